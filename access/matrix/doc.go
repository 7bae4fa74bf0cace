// Package matrix tells who may do what: tests that ask the real server over
// HTTP, each user with a credential of the kind they would have.
package matrix
