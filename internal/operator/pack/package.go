package pack

import (
	"encoding/json"
	"errors"

	"holdfast.dev/holdfast/api"
)

// Package is the content of a package.
type Package struct {
	Operator OperatorFile
	Params   ParamsFile
	// Templates holds the text of the templates, by their path below templates/.
	Templates map[string]string
	// Bundled holds the packages in folders below or beside this one, by the name that tasks
	// use for them, such as ./zookeeper. They may bundle each other in a circle.
	Bundled map[string]*Package
	// Location is the URL that the package was downloaded from, also for the packages that
	// it bundles. It is empty for a package from disk.
	Location string

	// warnings are the findings made while reading. Verify returns them too.
	warnings Findings
}

// OperatorFile is the content of operator.yaml.
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

// ParamsFile is the content of params.yaml.
type ParamsFile struct {
	APIVersion string  `json:"apiVersion,omitempty"`
	Groups     []Group `json:"groups,omitempty"`
	Parameters []Param `json:"parameters"`
}

// Group is a named group of parameters, for display.
type Group struct {
	Name        string `json:"name,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int    `json:"prio,omitempty"`
}

// Param is the definition of a parameter in params.yaml. Its default and its allowed
// values are arbitrary YAML values, here as JSON.
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

// Parse decodes the files, including those of bundled packages. The error lists what is
// wrong with each package.
func (f Files) Parse() (*Package, error) {
	r := &reader{files: f, parsed: map[string]*Package{}}
	p := r.parse(".")
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return p, nil
}
