package api

import "strings"

// VersionKey returns the name of the OperatorVersion that is installed. If it is in another
// namespace than the Instance, the key is NAMESPACE/NAME. Records, consent and seals contain
// the key, so that they are about exactly one OperatorVersion.
func (i *Instance) VersionKey() string {
	reference := i.Spec.OperatorVersion
	if reference.Namespace == "" || reference.Namespace == i.Namespace {
		return reference.Name
	}
	return reference.Namespace + "/" + reference.Name
}

// SetVersionKey makes the Instance refer to the OperatorVersion with a key.
func (i *Instance) SetVersionKey(key string) {
	namespace, name := SplitVersionKey(key, "")
	i.Spec.OperatorVersion.Namespace, i.Spec.OperatorVersion.Name = namespace, name
}

// SplitVersionKey returns the namespace and the name in the key of an OperatorVersion. A key
// without a namespace is of the namespace of the Instance.
func SplitVersionKey(key, instanceNamespace string) (namespace, name string) {
	if namespace, name, found := strings.Cut(key, "/"); found {
		return namespace, name
	}
	return instanceNamespace, key
}
