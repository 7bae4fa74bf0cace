// Package plugins is the stage of the start that puts admission together: the chain of plugins and its order, the policies and
// webhooks of users, the bound on nesting, and the check of field ownership.
//
//	admission, err := plugins.Apply(base, identity)
//
// The plugins themselves are in the packages below internal/admission and in k8s.io/apiserver. A plugin that is turned off is never
// created, so its informers do not run.
package plugins
