//! Bodies as they pass: counted, timed, and kept from carrying secrets.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::{Allowance, Carried, Over, mask_headers, take};

/// What a guest sends.
pub(super) struct Sent {
    body: WasiBody,
    carried: Arc<Carried>,
    left: Arc<Allowance>,
    over: Over,
}

impl Sent {
    pub(super) fn new(body: WasiBody, carried: Arc<Carried>, left: Arc<Allowance>, over: Over) -> Self {
        Sent { body, carried, left, over }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            end => return Poll::Ready(end),
        };
        if let Some(name) = frame.trailers_ref().and_then(|trailers| self.carried.reserved(trailers)) {
            return Poll::Ready(Some(Err(self.over.trailer(name))));
        }
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        Poll::Ready(Some(if take(&self.left.upload, bytes) { Ok(frame) } else { Err(self.over.upload()) }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// What a server sends.
pub(super) struct Received {
    body: WasiBody,
    carried: Arc<Carried>,
    left: Arc<Allowance>,
    over: Over,
    between: Duration,
    /// When the next bytes must be there.
    due: Pin<Box<Sleep>>,
    /// Bytes that may be the start of a secret.
    held: BytesMut,
    /// What comes after the bytes that were held.
    last: Option<Frame<Bytes>>,
    ended: bool,
}

impl Received {
    pub(super) fn new(
        body: WasiBody,
        carried: Arc<Carried>,
        left: Arc<Allowance>,
        between: Duration,
        over: Over,
    ) -> Self {
        let due = Box::pin(tokio::time::sleep(between));
        Received { body, carried, left, over, between, due, held: BytesMut::new(), last: None, ended: false }
    }

    /// The bytes that can be passed on after some more came.
    fn pass(&mut self, data: &Bytes) -> Bytes {
        self.held.extend_from_slice(data);
        let length = self.carried.redactor.mask_start(&mut self.held);
        self.held.split_to(length).freeze()
    }

    /// What was held when nothing more comes.
    fn rest(&mut self) -> Bytes {
        self.carried.redactor.mask(&mut self.held);
        self.held.split().freeze()
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                ready!(self.due.as_mut().poll(cx));
                self.ended = true;
                return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
            };
            let next = Instant::now() + self.between;
            self.due.as_mut().reset(next);
            let frame = match frame.transpose()? {
                Some(frame) => frame,
                None => {
                    self.ended = true;
                    let held = self.rest();
                    return Poll::Ready((!held.is_empty()).then(|| Ok(Frame::data(held))));
                }
            };
            match frame.into_data() {
                Ok(data) => {
                    if !take(&self.left.download, data.len() as u64) {
                        self.ended = true;
                        return Poll::Ready(Some(Err(self.over.download())));
                    }
                    let passed = if self.carried.redactor.is_idle() { data } else { self.pass(&data) };
                    if !passed.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(passed))));
                    }
                    // A server that sends byte by byte keeps nobody else waiting.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(frame) => {
                    let Ok(mut trailers) = frame.into_trailers() else { continue };
                    mask_headers(&self.carried.redactor, &mut trailers);
                    self.ended = true;
                    let held = self.rest();
                    if held.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                    }
                    self.last = Some(Frame::trailers(trailers));
                    return Poll::Ready(Some(Ok(Frame::data(held))));
                }
            }
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.ended {
            return Poll::Ready(self.last.take().map(Ok));
        }
        self.next(cx)
    }
}
