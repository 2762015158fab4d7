// Package jute is the wire format of ZooKeeper's client protocol, named after the
// record compiler that defines it.
//
// A connection carries frames: four bytes of length, then as many bytes of body.
// The first frame of each direction is a [ConnectRequest] and a
// [ConnectResponse]. Every later one begins with a [RequestHeader] or a
// [ReplyHeader], which the fields of the request or of the answer follow.
//
// A [Decoder] never fails in the middle: once a field is missing, all that follow
// are zero and [Decoder.Bad] reports it. So a message is decoded in one go and
// checked once. An [Encoder] cannot fail.
package jute
