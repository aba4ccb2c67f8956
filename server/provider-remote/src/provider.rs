//! The provider: each operation is one call of the seam.

use std::future::Future;

use async_trait::async_trait;
use futures_util::stream;
use http::uri::PathAndQuery;
use prost::Message as _;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Response, Status};
use tonic_prost::ProstCodec;
use toolfs_contract::v1;
use toolfs_contract::v1::file_system_service_client::FileSystemServiceClient;
use toolfs_core::error::{Code, FsError, Published, Result};
use toolfs_core::limit::LimitName;
use toolfs_core::target::{Target, TargetKey, display_form};
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;
use toolfs_provider::content::{ContentStream, EntryStream};
use toolfs_provider::report::{EditReport, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};
use toolfs_provider::{Provider, refusal};
use toolfs_remote::{Broken, Failure};

use crate::call::{Effect, Sent, Wait};
use crate::stream::{Asked, content, entries};
use crate::upload::{plan_messages, write_messages};
use crate::{RemoteOptions, answer, report, request};

/// The method of an edit, which is called below the stub: only there it shows whether the request was sent.
const EDIT_TEXT: &str = "/toolfs.v1.FileSystemService/EditText";

/// How often a mutation with an operation id is sent when its answer is lost.
const MAX_ATTEMPTS: usize = 2;

/// A provider that another process serves. Clones share its connection.
#[derive(Clone, Debug)]
pub struct RemoteProvider {
    stub: FileSystemServiceClient<Channel>,
    channel: Channel,
    options: RemoteOptions,
}

impl RemoteProvider {
    /// A provider at `HOST:PORT`, `unix:PATH` or `http://HOST:PORT`, which need not be there yet: it is connected when
    /// a call needs it, and again whenever the connection was lost.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for an address that is none.
    pub fn connect(address: &str, options: RemoteOptions) -> Result<RemoteProvider> {
        let channel = toolfs_remote::connect(address, &options)?;
        Ok(RemoteProvider::from_channel(channel, options))
    }

    /// A provider at the end of a channel that is there already, over whatever transport.
    pub fn from_channel(channel: Channel, options: RemoteOptions) -> RemoteProvider {
        let limit = options.max_message_bytes;
        let stub = FileSystemServiceClient::new(channel.clone())
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        RemoteProvider { stub, channel, options }
    }

    fn begin(&self, abort: &AbortSignal) -> Result<Wait> {
        Wait::begin(abort, self.options.call_timeout)
    }

    /// One call that changes nothing, and the reading of its answer.
    async fn ask<A, T>(
        &self,
        abort: &AbortSignal,
        call: impl Future<Output = Result<Response<A>, Status>>,
        read: impl FnOnce(A) -> Result<T, Broken>,
    ) -> Result<T> {
        let answer = self.begin(abort)?.on(&Effect::None, call).await?.into_inner();
        read(answer).map_err(|broken| Effect::None.broken(&broken))
    }

    /// One mutation, repeated when its answer is lost and it has an operation id.
    async fn change<A, T, F>(
        &self,
        abort: &AbortSignal,
        is_repeatable: bool,
        send: impl Fn(Sent) -> F,
        read: impl Fn(A) -> Result<T, Broken>,
    ) -> Result<T>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let mut attempt = 1;
        let mut may_have_landed = false;
        loop {
            let sent = Sent::default();
            let effect = Effect::Change(sent.clone());
            let end = match self.begin(abort) {
                Ok(mut wait) => wait.on(&effect, send(sent)).await,
                Err(error) => Err(Failure::untold(error)),
            };
            let end = end.and_then(|answer| {
                read(answer.into_inner()).map_err(|broken| Failure::untold(effect.broken(&broken)))
            });
            let failure = match end {
                Ok(report) => return Ok(report),
                Err(failure) => failure,
            };
            let error = &failure.error;
            let is_lost = error.code() == Code::Unavailable && error.published() == Published::Maybe;
            if !is_lost || !is_repeatable || attempt == MAX_ATTEMPTS {
                return Err(if may_have_landed { after_a_lost_answer(failure) } else { failure.error });
            }
            tracing::debug!(error = error as &dyn std::error::Error, "a lost answer is asked for again");
            may_have_landed = true;
            attempt += 1;
        }
    }

    async fn send_edit(
        &self,
        message: v1::EditTextRequest,
        sent: Sent,
    ) -> Result<Response<v1::EditTextResponse>, Status> {
        let limit = self.options.max_message_bytes;
        let mut grpc =
            Grpc::new(self.channel.clone()).max_decoding_message_size(limit).max_encoding_message_size(limit);
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        // A request of one message, whatever the method calls it.
        let messages = stream::iter([message]);
        let messages = futures_util::StreamExt::inspect(messages, move |_| sent.mark_whole());
        let path = PathAndQuery::from_static(EDIT_TEXT);
        grpc.client_streaming(self.options.timed(messages), path, ProstCodec::default()).await
    }

    /// What is above the limit of messages is refused here: the transport would refuse it without saying why.
    fn fits(&self, target: &TargetKey, message_bytes: usize) -> Result<()> {
        let limit = self.options.max_message_bytes;
        if message_bytes <= limit {
            return Ok(());
        }
        let shown = display_form(target.as_bytes());
        Err(refusal::too_large(shown, LimitName::MaxMessageBytes, limit as u64, message_bytes as u64))
    }
}

/// The error of a repetition, when the first one may have landed. Only the peer's own verdict on the operation says
/// more than that: not a refusal by something on the way, nor one of the call instead of the operation.
fn after_a_lost_answer(failure: Failure) -> FsError {
    let Failure { error, is_effect_told } = failure;
    // A peer that was too busy for the repetition, or gave it up, did not look at what the first one did.
    let is_given_up = error.code() == Code::Unavailable || error.code() == Code::Aborted;
    let is_verdict = is_effect_told && (!is_given_up || error.published() != Published::No);
    if is_verdict { error } else { error.with_published(Published::Maybe) }
}

#[async_trait]
impl Provider for RemoteProvider {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        let mut stub = self.stub.clone();
        let request = self.options.timed(v1::GetProviderCapabilitiesRequest {});
        self.ask(abort, stub.get_provider_capabilities(request), answer::capabilities).await
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        let mut stub = self.stub.clone();
        let request = self.options.timed(request::resolve(request));
        self.ask(abort, stub.resolve(request), answer::target).await
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        let mut stub = self.stub.clone();
        let message =
            v1::ContainsRequest { ancestor_key: request::key(ancestor), target_key: request::key(target) };
        let call = stub.contains(self.options.timed(message));
        self.ask(abort, call, |answer| toolfs_remote::required("contained", answer.contained)).await
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        let mut stub = self.stub.clone();
        let message = v1::StatRequest { target_key: request::key(target), want_version };
        let call = stub.stat(self.options.timed(message));
        self.ask(abort, call, |answer| answer::stat(answer.stat, want_version)).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        let mut stub = self.stub.clone();
        let call = stub.lstat(self.options.timed(request::lstat(request)));
        self.ask(abort, call, |answer| answer::stat(answer.stat, false)).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        let mut stub = self.stub.clone();
        let call = stub.read_lines(self.options.timed(request::read_lines(target, window)));
        self.ask(abort, call, |answer| answer::lines(answer, window)).await
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        let mut stub = self.stub.clone();
        let message = v1::ReadTextRequest { target_key: request::key(target) };
        let mut wait = self.begin(abort)?;
        let messages =
            wait.on(&Effect::None, stub.read_text(self.options.timed(message))).await?.into_inner();
        content(messages, wait, Asked::Text).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        let mut stub = self.stub.clone();
        let message = request::read_bytes(target, range);
        let mut wait = self.begin(abort)?;
        let messages =
            wait.on(&Effect::None, stub.read_bytes(self.options.timed(message))).await?.into_inner();
        content(messages, wait, Asked::Bytes(range)).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        let mut stub = self.stub.clone();
        let message = v1::ListDirRequest { target_key: request::key(target) };
        let mut wait = self.begin(abort)?;
        let messages = wait.on(&Effect::None, stub.list_dir(self.options.timed(message))).await?.into_inner();
        Ok(entries(messages, wait))
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let send = |sent| {
            let mut stub = self.stub.clone();
            let messages = self.options.timed(write_messages(&request, sent));
            async move { stub.write_text(messages).await }
        };
        let read = |answer: v1::WriteTextResponse| report::write(answer.report, answer.not_durable, &request);
        self.change(abort, request.operation_id.is_some(), send, read).await
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let message = request::edit(&request);
        self.fits(&request.target, message.encoded_len())?;
        let send = |sent| self.send_edit(message.clone(), sent);
        let read = |answer: v1::EditTextResponse| report::edit(answer.report, answer.not_durable, &request);
        self.change(abort, request.operation_id.is_some(), send, read).await
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let mut stub = self.stub.clone();
        let call = stub.plan_write(self.options.timed(plan_messages(&request)));
        self.ask(abort, call, |answer| report::write(answer.report, None, &request)).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let message = request::plan_edit(&request);
        self.fits(&request.target, message.encoded_len())?;
        let mut stub = self.stub.clone();
        let call = stub.plan_edit(self.options.timed(message));
        self.ask(abort, call, |answer| report::edit(answer.report, None, &request)).await
    }
}
