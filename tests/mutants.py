#!/usr/bin/env python3
"""Switches off one check of the guards at a time and sees that some test fails.

Runs on what is committed, in a worktree and a build of its own below target/. It takes some forty minutes, ten of them for the
first build: `just mutants`, or with numbers for some of them.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "target" / "mutants"
SRC = "host/src/"
FILES = ["guard", "permissions", "case-files"]
NETWORK = ["network", "case-files"]
CONTAINMENT = ["containment"]
HOSTILE = ["hostile"]
CACHE = ["cache"]
PROGRAMS = ["programs"]
WALL = ["wall"]
SERVE = ["serve"]
HTTP = ["serve-http"]
CHANGES = ["changes"]

# What is switched off, the file, the text that does it, what stands there instead, and the tests that must tell.
MUTANTS = [
    ("absolute links lead out", "sandbox/fs/tree.rs", "if target.starts_with('/') {", "if false {", FILES),
    ("`..` leads out", "sandbox/fs/tree.rs", "            return Err(Reason::Outside);\n        }\n        self.here = None;", "            return Ok(());\n        }\n        self.here = None;", FILES),
    ("folders on the way are asked about", "sandbox/fs/tree.rs", "if !is_last && !(self.start.may_pass)(&trail) {", "if false && !(self.start.may_pass)(&trail) {", FILES),
    ("links on the way are asked about", "sandbox/fs/tree.rs", "                    if !(self.start.may_follow)(&trail) {", "                    if false && !(self.start.may_follow)(&trail) {", FILES),
    ("other file systems are refused", "sandbox/fs/tree.rs", "Device::Only(_) => Err(Reason::Device),", "Device::Only(_) => Ok(()),", FILES),
    ("the kernel's are refused", "sandbox/fs/tree.rs", "device) => Err(Reason::Device),", "device) => Ok(()),", FILES),
    ("long paths are refused", "sandbox/fs/tree.rs", "    if path.len() > MAX_PATH {\n        return", "    if path.len() > usize::MAX - 1 {\n        return", FILES),
    ("steps are counted", "sandbox/fs/tree.rs", "if self.steps > MAX_STEPS {", "if false {", FILES),
    ("the rules are asked about the object", "sandbox/fs/entry.rs", "                _ => self.policy.check(operation, &place.path)?,", "                _ => {}", FILES),
    ("hard links are refused", "sandbox/fs/entry.rs", "if stat.st_nlink <= 1 ||", "if true ||", FILES),
    ("pipes and devices are refused", "sandbox/fs/entry.rs", "            _ => \"neither a file", "            _ if true => return Ok(()),\n            _ => \"neither a file", FILES),
    ("a name's rules are asked", "sandbox/fs/entry.rs", "        self.policy.check(Operation::Write, &place.path)?;\n        let stat", "        let stat", FILES),
    ("names on the way to the host's files are kept", "sandbox/fs/entry.rs", "        self.policy.check_own(&place, stat.as_ref().ok())?;\n        // One", "        // One", FILES),
    ("the host's files are not written", "sandbox/fs/entry.rs", "                self.policy.check_own(place, stat)?;", "", FILES),
    ("folders are renamed under one rule only", "sandbox/fs/entry.rs", "true => self.policy.is_uniform(&old.path) && self.policy.is_uniform(&new.path),", "true => true,", FILES),
    ("files are not renamed into sight", "sandbox/fs/entry.rs", "false if !self.policy.may_see(&new.path) => true,", "false if true => true,", FILES),
    ("names of files with several are kept", "sandbox/fs/entry.rs", "            && kind(stat) == FileType::RegularFile\n", "            && false\n", FILES),
    ("a mount is not changed by its descriptor", "sandbox/fs/guarded.rs", "perms(may_write), mode, mount.is_local());\n            let handle", "perms(true | may_write), mode, mount.is_local());\n            let handle", FILES),
    ("mounts are apart", "sandbox/fs/entry.rs", "            return Err(Errno::XDEV.into());", "", FILES),
    ("new files are counted", "sandbox/fs/entry.rs", "        mount.quota.take_file(&place.path).map_err(Failure::Full)?;", "", FILES),
    ("listings are counted", "sandbox/fs/listing.rs", "self.guard.streams.one().ok_or(", "super::streams::Streams::default().one().ok_or(", HOSTILE),
    ("folders are listed under the rules", "sandbox/fs/entry.rs", "        self.policy.check_folder(&self.path)?;\n        Ok(Dir", "        Ok(Dir", FILES),
    ("descriptors are counted", "sandbox/fs/guarded.rs", "self.guard.open.len() < MAX_OPEN", "self.guard.open.len() < usize::MAX", FILES),
    ("what is open to be read is not changed", "sandbox/fs/entry.rs", "let may_write = self.policy.may(Operation::Write, &place.path)", "let may_write = (true || self.policy.may(Operation::Write, &place.path))", FILES),
    ("growth is counted", "sandbox/fs/guarded.rs", "growing.quota.take_bytes(more, &growing.path).map_err(|refusal| self.full(refusal))", "{ let _ = (more, growing); Ok(()) }", FILES),
    ("growth of streams is counted", "sandbox/fs/quota.rs", "end.saturating_sub(size), &self.path", "0, &self.path", FILES),
    ("listings show what may be read", "sandbox/fs/listing.rs", "if policy.may_see(&path) ||", "if true ||", FILES),
    ("a read-only mount is not written", "sandbox/fs/mod.rs", "if operation == Operation::Write && self.mount(path)", "if false && self.mount(path)", FILES),
    ("the kernel's are not mounted", "sandbox/fs/root.rs", "if is_devices || (!is_own_device && is_kernel(&folder, device)) {", "if false {", FILES),
    ("no match is a denial", "policy/rules.rs", "None => Decision { effect: Effect::Deny,", "None => Decision { effect: Effect::Allow,", FILES),
    ("secrets' files are hidden", "sandbox/fs/mod.rs", "if self.protected.is_hidden(stat, &place.parent, &place.name) {", "if false {", ["cli"]),
    ("ports are compared", "policy/origin.rs", "&& url.port_or_known_default() == Some(self.port)", "", NETWORK),
    ("schemes are compared", "policy/origin.rs", "host && url.scheme() == self.scheme.as_str() &&", "host &&", NETWORK),
    ("subdomains end at dots", "policy/origin.rs", "host.strip_suffix(domain).and_then(|sub| sub.strip_suffix('.')).is_some_and(|sub| !sub.is_empty())", "host.ends_with(domain)", NETWORK),
    ("paths are compared", "policy/origin.rs", "&& self.path.iter().zip(&names).all(|(own, name)| own == name)", "", NETWORK),
    ("ambiguous paths are refused", "policy/origin.rs", "&& !names.iter().any(|name| is_ambiguous(name)))", ")", NETWORK),
    ("methods are compared", "policy/request.rs", "methods.iter().any(|known| known == method)", "!methods.is_empty()", NETWORK),
    ("CONNECT and TRACE are refused", "policy/request.rs", "if method.eq_ignore_ascii_case(\"CONNECT\") || method.eq_ignore_ascii_case(\"TRACE\") {", "if false {", NETWORK),
    ("addresses are judged", "sandbox/http/dial.rs", "if is_public(*address) { reach.public } else { reach.private }", "reach.public", NETWORK),
    ("clouds' addresses are never reached", "sandbox/http/dial.rs", "!is_never(*address) && is_granted", "is_granted", NETWORK),
    ("a rule's authorities are its own", "sandbox/http/dial.rs", ".find(|(origin, _)| origin.matches(target))", ".find(|_| true)", NETWORK),
    ("the host sets the secret's header", "sandbox/http/mod.rs", "if let Some(name) = carried.reserved(request.headers()) {", "if let Some(name) = carried.reserved(&HeaderMap::new()) {", NETWORK),
    ("in trailers too", "sandbox/http/body.rs", "if let Some(name) = frame.trailers_ref()", "if let Some(name) = frame.trailers_ref().filter(|_| false)", NETWORK),
    ("what may show a secret is not compressed", "sandbox/http/mod.rs", "if !self.carried.secrets.is_empty() && !is_plain {", "if false {", NETWORK),
    ("headers are masked", "sandbox/http/mod.rs", "        mask_headers(&self.carried.redactor, headers);\n        Ok(())", "        Ok(())", NETWORK),
    ("bodies are masked", "sandbox/http/body.rs", "let length = self.carried.redactor.mask_start(&mut self.held);", "let length = self.held.len();", NETWORK),
    ("across chunks", "sandbox/http/body.rs", "let length = self.carried.redactor.mask_start(&mut self.held);", "self.carried.redactor.mask(&mut self.held); let length = self.held.len();", NETWORK),
    ("replies are redacted", "host/mod.rs", "                inner.redactor.reply(&mut reply);\n", "", NETWORK),
    ("requests are counted", "sandbox/http/mod.rs", "if !take(&self.left.requests, 1) {", "if false {", NETWORK),
    ("downloads are counted", "sandbox/http/body.rs", "if !take(&self.left.download, data.len() as u64) {", "if false {", NETWORK),
    ("uploads are counted", "sandbox/http/body.rs", "if take(&self.left.upload, bytes) {", "if true || bytes == 0 {", NETWORK),
    ("one request for each connection", "sandbox/http/mod.rs", "        parts.headers.insert(CONNECTION, HeaderValue::from_static(\"close\"));", "", NETWORK),
    ("a secret is not sent in the clear", "sandbox/http/mod.rs", "public: !self.is_bare()", "public: true", NETWORK),
    ("what is not needed is redacted too", "host/builder.rs", "        self.keep_secret(grant.secrets()).map_err(refuse)?;\n        let grant = grant.within(component.needs());", "        let grant = grant.within(component.needs());\n        self.keep_secret(grant.secrets()).map_err(refuse)?;", ["needs"]),
    ("what a person decides on is theirs", "sandbox/fs/mod.rs", "&& !is_asked &&", "&& (!is_asked || true) &&", ["asking"]),
    ("questions are bounded", "sandbox/fs/mod.rs", "self.policy.answers().len() >= MAX_QUESTIONS", "self.policy.answers().len() >= 1000", ["asking"]),
    ("a person is asked", "sandbox/fs/mod.rs", "                None => Err(Refusal { asks: Some(operation), ..refusal(rule) }),", "                None => Ok(()),", ["asking"]),
    ("one question at a time", "sandbox/ask.rs", "            let _turn = self.sibling.all.turn.lock().await;", "", ["asking"]),
    ("a person's time is the call's", "sandbox/ask.rs", "        *self.patience() = patience.saturating_sub(started.elapsed());\n", "", ["lib"]),
    ("the clock stands", "sandbox/ask.rs", "        let _standing = clock.stand();", "", ["asking"]),
    ("files need a need", "sandbox/fs/mod.rs", "if needed == Some(false) {", "if false {", ["needs"]),
    ("requests need a need", "sandbox/http/mod.rs", "if self.network.needed == Some(false) {", "if false {", ["needs"]),
    ("secrets need a need", "policy/mod.rs", "Some(needs) => needs.secrets.iter().any(|name| name == secret.name()),", "Some(_) => true,", ["needs"]),
    ("calls wait for a place", "engine/admission.rs", "Semaphore::new(capacity.calls.clamp(1, Semaphore::MAX_PERMITS))", "Semaphore::new(Semaphore::MAX_PERMITS)", CONTAINMENT),
    ("calls wait for memory", "engine/admission.rs", "Semaphore::new(units.min(Semaphore::MAX_PERMITS))", "Semaphore::new(Semaphore::MAX_PERMITS)", CONTAINMENT),
    ("the queue is bounded", "engine/admission.rs", "(waiting < self.queue).then_some", "true.then_some", CONTAINMENT),
    ("the deadline is outside of the task", "host/mod.rs", "() = clock.overrun() => Err(", "() = std::future::pending() => Err(", CONTAINMENT),
    ("waiting for a place counts", "host/mod.rs", "() = clock.run_out() => return Err(waited(call, limit)),", "() = std::future::pending() => return Err(waited(call, limit)),", CONTAINMENT),
    ("a guest gives way in host calls", "sandbox/crossing.rs", "if store.data_mut().slice.is_over() {", "if false {", HOSTILE),
    ("host calls carry little", "sandbox/crossing.rs", "store.set_hostcall_fuel(MAX_HOST_CALL);", "store.set_hostcall_fuel(usize::MAX);", HOSTILE),
    ("what is returned is weighed", "sandbox/crossing.rs", "(room as f64 / self.worst_ratio) as usize", "room", HOSTILE),
    ("what is returned is bounded", "sandbox/crossing.rs", "(room as f64 / self.worst_ratio) as usize", "usize::MAX", HOSTILE),
    ("handles of the host's are few", "sandbox/state.rs", "const MAX_HANDLES: usize = 512;", "const MAX_HANDLES: usize = 100_000;", HOSTILE),
    ("headers are short", "sandbox/state.rs", "        http.set_field_size_limit(MAX_FIELDS);\n", "", HOSTILE),
    ("paths of requests are short", "sandbox/http/long.rs", "text.len() > MAX_LENGTH)", "text.len() > usize::MAX - 1)", NETWORK),
    ("memories count together", "sandbox/limiter.rs", "        self.used = wanted;\n", "", HOSTILE),
    ("arguments are paid for", "tool/lower/value.rs", "        cx.take_room(weight::read(shape))?;\n", "", ["schemas"]),
    ("code has a tag", "component/cache/mod.rs", "        self.key.verify_all(&path, &mut code, entry.code_tag.as_bytes()).ok()?;\n", "", CACHE),
    ("what is known has a tag", "component/cache/mod.rs", "        self.key.verify(path, text, tag)?;\n", "        let _ = (tag, text);\n", CACHE),
    ("others cannot have written it", "component/cache/mod.rs", "about.mode() & 0o077 != 0 {\n        return Err(io", "false {\n        return Err(io", CACHE),
    ("the cache's folder is ours alone", "own.rs", "if about.mode() & 0o077 != 0 {", "if false {", CACHE),
    ("a component that changed is not called", "component/code.rs", "if digest(&bytes) != expected {", "if false {", CACHE),
    ("the cache is hidden", "host/builder.rs", "            protected.add_hidden(cache.folder());\n", "", CACHE),
    ("nothing is reached through hidden folders", "sandbox/fs/tree.rs", "FileType::Directory if (self.start.is_own)(&stat) =>", "FileType::Directory if false =>", CACHE),
    ("what was left open is closed", "cli/wall/mod.rs", "    inherited.close();\n    needs.give_up_the_rest(offer)?;", "    needs.give_up_the_rest(offer)?;", WALL),
    ("cases run behind the wall", "cli/test.rs", "let inside = if args.trust {", "let inside = if true {", WALL),
    ("files are given up", "cli/wall/mod.rs", "        if offer.files {", "        if false {", ["bin"]),
    ("output is bounded", "workspace/spool.rs", "usize::try_from(self.limits.stream - self.taken).unwrap_or(usize::MAX)", "usize::MAX", PROGRAMS),
    ("output is not held", "workspace/spool.rs", "None if self.held.len() + bytes.len() <= self.limits.memory => {", "None if true => {", PROGRAMS),
    ("output is masked as it comes", "workspace/spool.rs", "            redactor.mask(&mut self.held);\n", "", PROGRAMS),
    ("output is masked across its pieces", "workspace/spool.rs", "let passed = redactor.mask_start(&mut self.held);", "redactor.mask(&mut self.held);\n        let passed = self.held.len();", PROGRAMS),
    ("a program does not see the adapter's memory", "component/adapt.rs", "Change { heap: heap(module) }", "Change { heap: heap(module).filter(|_| false) }", PROGRAMS),
    ("a part is said to be one", "reply/evict.rs", "let is_cut = output.as_ref().is_some_and(|output| !output.is_whole);", "let is_cut = false;", PROGRAMS),
    ("system calls are given up", "cli/wall/mod.rs", "                seccompiler::apply_filter(&filter).context(\"seccomp\")?;\n", "", WALL),
    ("tokens tell clients apart", "mcp/server/clients.rs", "all.iter().find(|client| client.token.is_none() || client.token == token)?", "all.iter().find(|_| token.is_some())?", HTTP),
    ("encoded bodies are refused", "mcp/server/http.rs", "if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b\"identity\")) {", "if encoding.is_some_and(|_| false) {", HTTP),
    ("deciding headers come once", "mcp/server/http.rs", "if let Some(name) = doubled(&request) {", "if let (Some(name), true) = (doubled(&request), false) {", HTTP),
    ("origins are judged", "mcp/server/http.rs", "config.allowed_origins = own", "let _: Vec<String> = own", HTTP),
    ("names are judged before bodies are read", "mcp/server/http.rs", "        audience.judge_names(&request).await?;\n", "", HTTP),
    ("an id is of one open request", "mcp/server/http.rs", "if !all.lock().unwrap_or_else(PoisonError::into_inner).insert(this.clone()) {", "if !all.lock().unwrap_or_else(PoisonError::into_inner).insert(this.clone()) && false {", HTTP),
    ("long messages are passed over", "mcp/server/lines.rs", "if self.read.len() > self.server.largest_message() || self.passed_over.is_some() {", "if self.passed_over.is_some() {", SERVE),
    ("a changed component is agreed to", "host/builder.rs", "Some(before) if before.digest != digest => Err(", "Some(before) if before.digest != digest && false => Err(", ["agreement", "changes"]),
    ("a change is whole", "cli/changes.rs", "match built.left_out.iter().find(|error| !is_known(error)) {", "match built.left_out.iter().find(|error| !is_known(error) && false) {", CHANGES),
    ("a change fits what was given up", "cli/changes.rs", "        missing.extend(self.inside.lacks(plan));\n", "", CHANGES),
    ("secrets are taken over", "host/builder.rs", "let value = match self.earlier.secret(secret) {", "let value = match self.earlier.secret(secret).filter(|_| false) {", CHANGES),
    ("what calls added counts on", "sandbox/fs/root.rs", "added: added.unwrap_or_default()", "added: added.filter(|_| false).unwrap_or_default()", CHANGES),
    ("whoever is removed is cut off", "mcp/server/clients.rs", "                client.seat.revoked.cancel();\n", "", CHANGES),
    ("what is shown has its rules", "policy/mod.rs", "Grant { mounts, fs: self.fs.clone(), limits, ..Grant::default() }", "Grant { mounts, limits, ..Grant::default() }", SERVE),
    ("witbox's own is not shown", "host/builder.rs", "            shown.protect(&protected);\n", "            let _ = &shown;\n", SERVE),
]


def git(*arguments):
    subprocess.run(["git", "-C", ROOT, *arguments], check=True, stdout=subprocess.DEVNULL)


def survives(tests):
    command = ["cargo", "test", "--quiet", "--locked"]
    for test in tests:
        command += {"lib": ["--lib"], "bin": ["--bin", "witbox"]}.get(test, ["--test", test])
    environment = {"CARGO_TARGET_DIR": str(ROOT / "target" / "mutants-build"), "RUST_BACKTRACE": "0"}
    done = subprocess.run(command, cwd=TREE, env={**os.environ, **environment}, capture_output=True, text=True)
    if "error: could not compile" in done.stderr:
        sys.exit(done.stderr[-3000:])
    return done.returncode == 0


def main():
    wanted = [int(number) for number in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    git("worktree", "add", "--force", "--detach", TREE, "HEAD")
    alive = []
    try:
        for number in wanted:
            about, name, text, other, tests = MUTANTS[number - 1]
            path = TREE / SRC / name
            source = path.read_text()
            if source.count(text) != 1:
                sys.exit(f"mutant {number} ({about}): its text stands {source.count(text)} times in {name}")
            path.write_text(source.replace(text, other))
            verdict = "SURVIVES" if survives(tests) else "caught"
            path.write_text(source)
            print(f"{number:3} {verdict:8} {about}", flush=True)
            alive += [number] * (verdict == "SURVIVES")
    finally:
        git("worktree", "remove", "--force", TREE)
    print(f"{len(alive)} of {len(wanted)} survive")
    sys.exit(1 if alive else 0)


if __name__ == "__main__":
    main()
