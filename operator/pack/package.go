package pack

import (
	"encoding/json"
	"errors"

	"holdfast.dev/holdfast/operator/api"
)

// Package is what its files say.
type Package struct {
	Operator OperatorFile
	Params   ParamsFile
	// Templates by their path below templates/.
	Templates map[string]string
	// Bundled are the packages in folders of this one, by the names that tasks have
	// for them, such as ./zookeeper.
	Bundled map[string]*Package

	// notes are what reading passed over.
	notes Findings
}

// OperatorFile is operator.yaml.
type OperatorFile struct {
	APIVersion        string              `json:"apiVersion,omitempty"`
	Name              string              `json:"name"`
	Description       string              `json:"description,omitempty"`
	OperatorVersion   string              `json:"operatorVersion"`
	AppVersion        string              `json:"appVersion,omitempty"`
	KUDOVersion       string              `json:"kudoVersion,omitempty"`
	KubernetesVersion string              `json:"kubernetesVersion,omitempty"`
	Maintainers       []api.Maintainer    `json:"maintainers,omitempty"`
	URL               string              `json:"url,omitempty"`
	Tasks             []api.Task          `json:"tasks"`
	Plans             map[string]api.Plan `json:"plans"`
	NamespaceManifest string              `json:"namespaceManifest,omitempty"`
}

// ParamsFile is params.yaml.
type ParamsFile struct {
	APIVersion string  `json:"apiVersion,omitempty"`
	Groups     []Group `json:"groups,omitempty"`
	Parameters []Param `json:"parameters"`
}

// Group puts parameters together for people.
type Group struct {
	Name        string `json:"name,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int    `json:"prio,omitempty"`
}

// Param is a parameter as a package defines it: its default and its allowed
// values are YAML.
type Param struct {
	Name        string            `json:"name,omitempty"`
	DisplayName string            `json:"displayName,omitempty"`
	Description string            `json:"description,omitempty"`
	Required    *bool             `json:"required,omitempty"`
	Default     json.RawMessage   `json:"default,omitempty"`
	Trigger     string            `json:"trigger,omitempty"`
	Type        string            `json:"type,omitempty"`
	Immutable   *bool             `json:"immutable,omitempty"`
	Enum        []json.RawMessage `json:"enum,omitempty"`
	Group       string            `json:"group,omitempty"`
	Advanced    *bool             `json:"advanced,omitempty"`
	Hint        string            `json:"hint,omitempty"`
}

// Parse reads the files, also those of packages in folders of this one.
func (f Files) Parse() (*Package, error) {
	r := &reader{files: f, read: map[string]*Package{}}
	p := r.parse(".")
	if err := errors.Join(r.wrong...); err != nil {
		return nil, err
	}
	return p, nil
}
