// Package authorship records which users a run of a plan acts for: the requester of the run
// and the authors of the parameter values. The controller acts with their rights, so a
// client must not be able to forge a record. A Keyring seals records:
//
//	err := keyring.SetRecord(ctx, instance, authorship.Record{Requester: user, Authors: authors})
//	record, err := keyring.Record(ctx, instance)
//
// Words: the requester is the user that made the write which started the run. An author of
// a parameter is a user that set its value. A sealed text is encrypted and authenticated
// with a key that only admission and the controller read, together with the subject that it
// is about. It opens only for the same subject.
//
// Promises: the same content about the same subject always has the same sealed text, as
// long as the key is the same. User names are visible to readers of an Instance; groups, UIDs
// and extra values are not. A Keyring is safe for concurrent use.
package authorship
