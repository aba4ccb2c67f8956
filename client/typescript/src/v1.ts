/**
 * The messages, enums and services of the contract `toolfs.v1`, as protobuf-es generates them.
 *
 * 64-bit integers are `bigint` here; the outcomes and details of the hand-written layer have numbers (see `Plain`).
 */
export * from "./gen/toolfs/v1/error_pb.js";
export * from "./gen/toolfs/v1/event_pb.js";
export * from "./gen/toolfs/v1/filesystem_pb.js";
export * from "./gen/toolfs/v1/policy_pb.js";
export * from "./gen/toolfs/v1/session_pb.js";
export * from "./gen/toolfs/v1/tool_pb.js";
export * from "./gen/toolfs/v1/types_pb.js";
