// Package test holds what shows that stock clients can live on the server:
// kubectl, controller-runtime and Helm, each against a real server in the
// process of its test.
//
// It is a module of its own, so that what only these tests need stays out of
// the product's go.mod.
package test
