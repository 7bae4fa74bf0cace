// Package warnings returns the warnings of Kubernetes about writes of built-in kinds: deprecated
// fields, values that the kubelet ignores, and entries that hide each other. The server sends them
// in Warning headers, and kubectl prints them.
//
//	for _, text := range warnings.OnCreate(pod) { ... }
//	for _, text := range warnings.OnUpdate(newObj, oldObj) { ... }
//
// The functions expect valid objects with defaults. They do not change the objects.
package warnings
