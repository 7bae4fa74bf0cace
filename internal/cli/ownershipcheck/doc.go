// Package ownershipcheck checks the field ownership of a client's writes, for servers
// that do not check it themselves. The rules are those of package ownership.
//
//	checker := ownershipcheck.New()
//	checker.Wrap(config)
//
// A Checker wraps the transport of a client, so commands need no change. For a write that
// may change fields owned by kubectl apply, it reads the object, sends the same request as
// a dry run, and judges the difference. The findings are added to the response as Warning
// headers, which clients print. An edit that changes an owned field is not sent; the
// client gets a response with status 422 instead.
//
// A Holdfast server checks ownership itself. It sends the header Holdfast-Ownership with its
// responses; the Checker then makes no additional requests for updates. It checks the
// commands that delete an object and create it again against every server, because no server
// knows that the two requests belong together.
//
// A guard (package guard) warns about writes to other servers. If the response has its warnings, the Checker replaces
// them by its own, which name the command, so that the user reads each once. It repeats an edit with --force that the
// guard refuses under the field manager "force", because a guard does not see the header.
//
// If the object cannot be read or the dry run fails, the write is sent unchecked. If the
// server stores it, one warning gives the reason. A Checker is safe for concurrent use.
package ownershipcheck
