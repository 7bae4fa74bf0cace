// Package rules says what is wrong with an object of a built-in kind, in Kubernetes' words and with its field paths.
//
// Three sources make up the checks. The published OpenAPI schema (package openapi) says which fields are required and
// which values an enum has. A table of rules, one file per area, adds what a schema cannot say: a rule is declared once
// for a Go type and its field, so that a rule for corev1.Container holds in a Pod, a Deployment and a CronJob alike.
// The third is metadata: names, labels, annotations, owners.
//
//	errs := rules.Validate(deployment)              // create
//	errs := rules.ValidateUpdate(newObj, oldObj)    // update; which fields are frozen is not asked here
//
// A kind is compiled when it is first seen: the Go type is walked together with its schema into a tree of checks, and
// subtrees without checks are left out, so a kind with few rules costs next to nothing. Compiled trees are shared and
// never changed; all functions may be called concurrently. Objects are read, never changed, and expected to carry their
// defaults. Every violation is returned, in the order of the struct's fields; rules over several fields of one struct
// come after the struct's own fields.
package rules
