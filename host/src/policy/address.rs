//! Which addresses are of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not public, from IANA's registry of special-purpose addresses, with multicast, the reserved
/// class E, and Azure's and Oracle's services for machines in their clouds, which have public addresses.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 19] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Blocks within IPv6's global unicast space (2000::/3) that are not public: protocol assignments with Teredo and ORCHID,
/// documentation, and AS112.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Where clouds hand out credentials to whoever asks from within: link-local addresses, and single ones of Alibaba, Azure
/// and Oracle.
const NEVER_V4: [(Ipv4Addr, u32); 4] = [
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(100, 100, 100, 200), 32),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(192, 0, 0, 192), 32),
];

/// The same of IPv6: link-local addresses, and those of Scaleway, Oracle, Alibaba, Linode, Amazon and Google.
const NEVER_V6: [(Ipv6Addr, u32); 7] = [
    (Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0), 32),
];

const LOCAL_NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48);

/// Whether an address is of the public internet, and what it carries of an IPv4 address is so too.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|block| has_v4(*block, address)),
        IpAddr::V6(address) if has_v6(LOCAL_NAT64, address) => false,
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public(IpAddr::V4(inner)),
            None => {
                let is_unicast = has_v6((Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3), address);
                is_unicast && !NOT_PUBLIC_V6.iter().any(|block| has_v6(*block, address))
            }
        },
    }
}

/// Whether an address is never reached, whatever is granted.
pub(crate) fn is_never(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => NEVER_V4.iter().any(|block| has_v4(*block, address)),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_never(IpAddr::V4(inner)),
            None => NEVER_V6.iter().any(|block| has_v6(*block, address)),
        },
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped (::ffff:0:0/96) or compatible (::/96, but for :: and ::1, RFC
/// 4291), translated (::ffff:0:0:0/96, RFC 2765), NAT64 (64:ff9b::/96, RFC 6052) or 6to4 (2002::/16, RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => of(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => of(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        // Of a network's own NAT64 (RFC 8215) the prefix has one of several lengths; this is the longest.
        [0x64, 0xff9b, 1, .., high, low] => of(high, low),
        _ => None,
    }
}

fn has_v4((block, length): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (block.to_bits() ^ address.to_bits()) >> (32 - length) == 0
}

fn has_v6((block, length): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (block.to_bits() ^ address.to_bits()) >> (128 - length) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_known_in_every_form() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:7f00:1",
            "::127.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "4000::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1", "2002:101:101::"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn credentials_of_clouds_are_never_reached() {
        for text in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "fe80::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fd00:a9fe:a9fe::1",
            "fd00:100::100:200",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(is_never(text.parse().unwrap()), "{text}");
        }
        for text in ["127.0.0.1", "10.0.0.1", "::1", "fd12::1", "1.1.1.1"] {
            assert!(!is_never(text.parse().unwrap()), "{text}");
        }
    }
}
