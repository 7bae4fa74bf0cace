// Package logic says which results a CEL rule can have if only a part of what it reads is known.
//
//	logic.Follows("!(has(self.cors) && self.type != 'CORS')", old, updated)
//
// It understands the usual forms of rules without running them. About all others it says that nothing is known.
package logic
