package jute

import "fmt"

// An Op says what a request asks for.
type Op int32

const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpReconfig        Op = 16
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpDeleteContainer Op = 20
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpCountChildren   Op = 104
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
	OpError           Op = -1 // stands for an op of a multi that was refused
	OpClose           Op = -11
)

var opNames = map[Op]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
	OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping",
	OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2", OpReconfig: "reconfig",
	OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches", OpCreateContainer: "createContainer",
	OpDeleteContainer: "deleteContainer", OpCreateTTL: "createTTL", OpMultiRead: "multiRead", OpAuth: "auth",
	OpSetWatches: "setWatches", OpSASL: "sasl", OpGetEphemerals: "getEphemerals", OpCountChildren: "getAllChildrenNumber",
	OpSetWatches2: "setWatches2", OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpClose: "close",
}

// String returns the name by which the servers' logs call o.
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("op%d", int32(o))
}

// Writes reports whether requests of kind o are transactions, which a quorum of the
// servers carries out.
func (o Op) Writes() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer, OpSetData, OpSetACL, OpMulti, OpReconfig:
		return true
	}
	return false
}

// Known reports whether some server knows requests of kind o.
func (o Op) Known() bool { return opNames[o] != "" }

// A Code is the outcome of a request.
type Code int32

const (
	OK                        Code = 0
	CodeInconsistency         Code = -2 // of the ops behind the one for which a multi was refused
	CodeMarshalling           Code = -5
	CodeUnimplemented         Code = -6
	CodeBadArguments          Code = -8
	CodeAPIError              Code = -100
	CodeNoNode                Code = -101
	CodeNoAuth                Code = -102
	CodeBadVersion            Code = -103
	CodeNoChildrenEphemerals  Code = -108
	CodeNodeExists            Code = -110
	CodeNotEmpty              Code = -111
	CodeSessionExpired        Code = -112
	CodeInvalidACL            Code = -114
	CodeAuthFailed            Code = -115
	CodeClosing               Code = -116
	CodeNothing               Code = -117
	CodeSessionMoved          Code = -118
	CodeNoWatcher             Code = -121
	CodeReconfigDisabled      Code = -123
	CodeAuthenticationMissing Code = -124 // SESSIONCLOSEDREQUIRESASLAUTH, of every scheme
	CodeQuotaExceeded         Code = -125
)

// The xids that do not number a request of the client's choosing.
const (
	XidEvent int32 = -1
	XidPing  int32 = -2
	XidAuth  int32 = -4
)
