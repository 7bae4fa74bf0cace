// Package rules validates objects of the built-in kinds, with the error messages and field paths of Kubernetes.
//
//	errs := rules.Validate(deployment)              // create
//	errs := rules.ValidateUpdate(newObj, oldObj)    // update; package frozen checks fields that cannot change
//	errs := rules.ValidateStatus(newObj, oldObj)    // update of the status subresource
//
// The checks come from three sources:
//
//   - The published OpenAPI schema (package openapi) defines which fields are required and which values an enum has.
//   - A table of rules, with one file for each area, adds what a schema cannot express. A rule belongs to a Go type, so a
//     rule for corev1.Container is checked in Pods, Deployments and CronJobs alike.
//   - Metadata is validated with the functions of k8s.io/apimachinery: names, labels, annotations, owner references.
//
// When a kind is validated for the first time, its Go type, its schema and its rules are compiled into a tree of checks.
// The tree has no branches without checks, so a kind with few rules is validated fast.
//
// Objects must have their defaults set. They are not changed. All errors are returned, in the order of the fields of each
// struct; a rule for several fields of a struct runs after its fields. All functions are safe for concurrent use.
package rules
