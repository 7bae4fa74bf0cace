// Package ownershipcheck judges the writes of a client by package ownership, against a
// server that does not judge them itself.
//
//	checker := ownershipcheck.New()
//	checker.Wrap(config)
//
// It is a RoundTripper and nothing more, so that commands built on any client
// library stay as they are. For a write that may touch what apply owns it reads the
// object, has the server try the write (a dry run of the same request), and judges
// the result. What there is to say is added to the answer as Warning headers, which
// clients print; an edit of an owned field is answered with 422 and never sent. A
// server that judges says so in the header Holdfast-Ownership of its answers, and
// is then asked nothing more.
//
// What cannot be read or tried is not judged: the write is sent as it is, and if it
// is stored one warning says why it was not checked. A Checker is safe for concurrent
// use.
package ownershipcheck
