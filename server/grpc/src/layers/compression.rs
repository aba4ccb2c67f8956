//! Which answers are compressed: those to requests that were.
//!
//! Some clients announce in every request what they understand, whether or not compression pays for them; on one host
//! it never does. A client that compresses its requests has made the choice.

use tonic::{Request, Response};

/// The header that names how a request is compressed.
const ENCODING_HEADER: &str = "grpc-encoding";

/// Makes the answer to a request.
pub(crate) fn as_asked<T, R>(request: &Request<T>) -> impl FnOnce(R) -> Response<R> + use<T, R> {
    let encoding = request.metadata().get(ENCODING_HEADER);
    let compressed = encoding.is_some_and(|encoding| encoding.as_encoded_bytes() != b"identity");
    move |message| {
        let mut response = Response::new(message);
        if !compressed {
            response.disable_compression();
        }
        response
    }
}
