// Package journal has the journals of replacements on servers that cannot replace an object in one write.
//
// There, a client deletes the old object and creates the new one. Before that it writes a journal: a Secret with both objects, from which
// any later client can finish the replacement, or create the old object again. A journal has a fixed name for each object, so it is a lock
// too.
//
//	entry := &journal.Entry{Resource: resource, Old: old, New: created, User: "alice"}
//	secret, err := entry.Secret()
//	entry, err = journal.Read(secret)
//	state := entry.Judge(stored)
//
// Judge says how far the replacement is. It needs no record of each step, because the stored object shows it. The package sends no
// requests.
package journal
