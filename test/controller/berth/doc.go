// Package berth is the API of a controller: Go types with markers for
// controller-gen. It generates the definition in ../testdata and the DeepCopy
// methods in zz_generated.deepcopy.go from them.
//
// +kubebuilder:object:generate=true
// +groupName=harbour.example.com
// +versionName=v1
package berth
