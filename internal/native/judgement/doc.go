// Package judgement judges writes to objects of every kind with package ownership. The API server,
// the guard and the command line share it: the type of a kind, the mode, the notes that are said once,
// and a judgement that never stops a write by a panic.
//
//	t := judgement.Published(kind, document)
//	verdict := judgement.Judge(ownership.Write{Type: t, Live: live, New: updated, Writer: writer}, cache)
//
// Package views has the types of the built-in kinds. Everything here is safe for concurrent use.
package judgement
