// Package podsecurity is the admission plugin PodSecurity of Kubernetes. It enforces the Pod
// Security Standards that a namespace asks for with labels:
//
//	pod-security.kubernetes.io/enforce: restricted   # rejects pods
//	pod-security.kubernetes.io/warn: restricted      # warns clients
//	pod-security.kubernetes.io/audit: restricted     # annotates audit events
//	pod-security.kubernetes.io/enforce-version: v1.37
//
// The library k8s.io/pod-security-admission has the standards and the rules. This package
// connects it to the server. There are no exemptions, and a namespace without labels allows
// every pod.
//
//	plugin, err := podsecurity.NewAdmission(factory.Core().V1(), client)
package podsecurity
