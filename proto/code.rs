//! The one table of codes: spelling and gRPC code of every reason that a status or an error carries.
//!
//! Two kinds of reasons share the domain [`ERROR_DOMAIN`]: the codes of [`FsErrorCode`], which tell what became of the
//! work on a file, and [`CallReason`], which tells what was wrong with the call itself. Server and client read the same
//! table, so that a reason means the same on both sides.
//!
//! Deliberately absent: messages and details, which are the concern of whoever makes the error.

use tonic::Code;

use crate::v1::{AbortCause, FsError, FsErrorCode, fs_error};

/// The domain in `google.rpc.ErrorInfo` of every reason here.
pub const ERROR_DOMAIN: &str = "toolfs";

impl FsErrorCode {
    /// Every code of the contract, in its order, without the unspecified one.
    pub const ALL: [FsErrorCode; 18] = [
        FsErrorCode::FsNotFound,
        FsErrorCode::FsNotDirectory,
        FsErrorCode::FsNotRegularFile,
        FsErrorCode::FsNotText,
        FsErrorCode::FsTooLarge,
        FsErrorCode::FsOutOfRange,
        FsErrorCode::FsPermissionDenied,
        FsErrorCode::FsSandboxDenied,
        FsErrorCode::FsNoSpace,
        FsErrorCode::FsIoError,
        FsErrorCode::FsStaleVersion,
        FsErrorCode::FsNotObserved,
        FsErrorCode::FsAmbiguousEdit,
        FsErrorCode::FsEditNotFound,
        FsErrorCode::FsInvalidArgument,
        FsErrorCode::FsUnsupported,
        FsErrorCode::FsUnavailable,
        FsErrorCode::FsAborted,
    ];

    /// The stable spelling: what `FsError.reason` and `ErrorInfo.reason` carry.
    ///
    /// ```
    /// use toolfs_contract::v1::FsErrorCode;
    ///
    /// assert_eq!(FsErrorCode::FsStaleVersion.as_str(), "FS_STALE_VERSION");
    /// ```
    pub fn as_str(self) -> &'static str {
        self.as_str_name()
    }

    /// The code that is spelled so; `None` for a spelling that this contract does not know.
    pub fn parse(reason: &str) -> Option<FsErrorCode> {
        FsErrorCode::ALL.into_iter().find(|code| code.as_str() == reason)
    }

    /// Every gRPC code under which this code may travel.
    ///
    /// It is one, but for `FS_ABORTED`, which is told apart by its [`AbortCause`].
    pub fn grpc_codes(self) -> &'static [Code] {
        match self {
            FsErrorCode::FsUnspecified => &[Code::Unknown],
            FsErrorCode::FsNotFound => &[Code::NotFound],
            FsErrorCode::FsNotDirectory
            | FsErrorCode::FsNotRegularFile
            | FsErrorCode::FsNotText
            | FsErrorCode::FsTooLarge
            | FsErrorCode::FsNotObserved
            | FsErrorCode::FsAmbiguousEdit
            | FsErrorCode::FsEditNotFound => &[Code::FailedPrecondition],
            FsErrorCode::FsOutOfRange => &[Code::OutOfRange],
            FsErrorCode::FsPermissionDenied | FsErrorCode::FsSandboxDenied => &[Code::PermissionDenied],
            FsErrorCode::FsNoSpace => &[Code::ResourceExhausted],
            FsErrorCode::FsIoError => &[Code::Internal],
            FsErrorCode::FsStaleVersion => &[Code::Aborted],
            FsErrorCode::FsInvalidArgument => &[Code::InvalidArgument],
            FsErrorCode::FsUnsupported => &[Code::Unimplemented],
            FsErrorCode::FsUnavailable => &[Code::Unavailable],
            FsErrorCode::FsAborted => &[Code::Cancelled, Code::DeadlineExceeded],
        }
    }

    /// The gRPC code under which this code travels; `cause` matters for `FS_ABORTED` only.
    pub fn grpc_code(self, cause: AbortCause) -> Code {
        if self != FsErrorCode::FsAborted {
            return self.grpc_codes()[0];
        }
        match cause {
            AbortCause::DeadlineExceeded => Code::DeadlineExceeded,
            AbortCause::Unspecified | AbortCause::Cancelled | AbortCause::Draining => Code::Cancelled,
        }
    }
}

impl FsError {
    /// The gRPC code under which this error travels between processes.
    ///
    /// ```
    /// use toolfs_contract::v1::{FsError, FsErrorCode};
    ///
    /// let error = FsError { code: FsErrorCode::FsStaleVersion.into(), ..FsError::default() };
    /// assert_eq!(error.grpc_code(), tonic::Code::Aborted);
    /// ```
    pub fn grpc_code(&self) -> Code {
        let cause = if let Some(fs_error::Detail::Aborted(detail)) = &self.detail {
            detail.cause()
        } else {
            AbortCause::Unspecified
        };
        self.code().grpc_code(cause)
    }
}

/// Makes [`CallReason`] out of its table, so that no reason can be without spelling or gRPC code.
macro_rules! call_reasons {
    ($($(#[$doc:meta])* $variant:ident $spelling:literal $grpc:ident;)*) => {
        /// What was wrong with a call, where that is no [`FsErrorCode`]: the reason in the `ErrorInfo` of a status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CallReason {
            $($(#[$doc])* $variant,)*
        }

        impl CallReason {
            /// Every reason, in the order of the type.
            pub const ALL: &'static [CallReason] = &[$(CallReason::$variant),*];

            /// The stable spelling: what `ErrorInfo.reason` carries.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(CallReason::$variant => $spelling,)*
                }
            }

            /// The gRPC code of the status that carries this reason.
            pub fn grpc_code(self) -> Code {
                match self {
                    $(CallReason::$variant => Code::$grpc,)*
                }
            }
        }
    };
}

call_reasons! {
    /// The request holds no call, or one of a kind that the server does not know.
    CallMissing "CALL_MISSING" InvalidArgument;
    /// A mutation has no guard, or one that the server does not know.
    GuardMissing "GUARD_MISSING" InvalidArgument;
    /// The request names no session where it must.
    KeyMissing "KEY_MISSING" InvalidArgument;
    /// The request does not say what it is about.
    ScopeMissing "SCOPE_MISSING" InvalidArgument;
    /// The `request_id` is no UUID.
    RequestIdInvalid "REQUEST_ID_INVALID" InvalidArgument;
    /// The `request_id` was used for another call.
    RequestIdReused "REQUEST_ID_REUSED" InvalidArgument;
    /// The `page_size` is negative.
    PageSizeInvalid "PAGE_SIZE_INVALID" InvalidArgument;
    /// The `page_token` is not one of this list.
    PageTokenInvalid "PAGE_TOKEN_INVALID" InvalidArgument;
    /// The `resume_token` is not one of this stream.
    ResumeTokenInvalid "RESUME_TOKEN_INVALID" InvalidArgument;
    /// The caller has no open session of that key.
    SessionNotFound "SESSION_NOT_FOUND" NotFound;
    /// As many sessions are open as may be.
    SessionLimit "SESSION_LIMIT" ResourceExhausted;
    /// The request is for operators, and the caller is none.
    OperatorOnly "OPERATOR_ONLY" PermissionDenied;
    /// The caller has used up what it may.
    QuotaExceeded "QUOTA_EXCEEDED" ResourceExhausted;
    /// The caller showed no valid credentials.
    Unauthenticated "UNAUTHENTICATED" Unauthenticated;
    /// The caller may not do this.
    Forbidden "FORBIDDEN" PermissionDenied;
    /// The server has too much to do; the status has a `RetryInfo`.
    Overloaded "OVERLOADED" Unavailable;
    /// The server is shutting down.
    ShuttingDown "SHUTTING_DOWN" Unavailable;
    /// The caller's time is over.
    DeadlineExceeded "DEADLINE_EXCEEDED" DeadlineExceeded;
    /// The caller cancelled.
    Cancelled "CANCELLED" Cancelled;
    /// The server made a mistake.
    Internal "INTERNAL" Internal;
}

impl CallReason {
    /// The reason that is spelled so; `None` for a spelling that this contract does not know.
    ///
    /// ```
    /// use toolfs_contract::code::CallReason;
    ///
    /// assert_eq!(CallReason::parse("OVERLOADED"), Some(CallReason::Overloaded));
    /// assert_eq!(CallReason::parse("FS_NOT_FOUND"), None);
    /// ```
    pub fn parse(reason: &str) -> Option<CallReason> {
        CallReason::ALL.iter().copied().find(|candidate| candidate.as_str() == reason)
    }
}
