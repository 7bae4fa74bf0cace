// Package shared has types that the kinds of other packages use.
package shared

// Coordinates are a place on the sea. They never change once they are known.
// +immutable
type Coordinates struct {
	// Latitude is in degrees.
	Latitude string `json:"latitude"`
	// Longitude is in degrees.
	// +optional
	Longitude *string `json:"longitude,omitempty"`
}

// Owner is a person or a company.
type Owner struct {
	// +immutable
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Shares is a percentage.
	// +kubebuilder:validation:Maximum=100
	Shares int32 `json:"shares"`
}
