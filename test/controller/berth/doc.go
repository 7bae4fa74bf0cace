// Package berth is the API of a controller: Go types with markers for
// controller-gen. From these types, controller-gen generates the definition in
// ../testdata and the DeepCopy methods in zz_generated.deepcopy.go.
//
// +kubebuilder:object:generate=true
// +groupName=harbour.example.com
// +versionName=v1
package berth
