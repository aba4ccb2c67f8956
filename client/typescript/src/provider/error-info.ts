/**
 * `google.rpc.ErrorInfo`, the detail of a status that carries its reason.
 *
 * No package of the npm registry has the generated type up to date, and two of its fields are all that is due here.
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The domain of every reason of this contract. */
const DOMAIN = "toolfs";

/** A detail of a status that is encoded already. */
export interface EncodedDetail {
  /** The full name of the message. */
  readonly type: string;
  /** Its bytes. */
  readonly value: Uint8Array<ArrayBuffer>;
}

/** The detail with a reason, spelled as the contract spells it. */
export function errorInfo(reason: string): EncodedDetail {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(reason);
  writer.tag(2, WireType.LengthDelimited).string(DOMAIN);
  return { type: "google.rpc.ErrorInfo", value: writer.finish() };
}
