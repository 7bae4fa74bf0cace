// Package console holds the tests of the console in a real browser, without a window.
//
// It is a module of its own, because only these tests need the driver of the browser. They need
// Chromium on the PATH and are not part of "make test":
//
//	make test STEPS=console
//
// With HOLDFAST_SCREENSHOTS=DIRECTORY, the tests write the pictures of docs/console.md there.
package console
