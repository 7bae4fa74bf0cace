package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorVersion is one version of an operator package, as the server stores it. Its
// spec never changes.
//
// +kubebuilder:object:root=true
type OperatorVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OperatorVersionSpec `json:"spec,omitempty"`
}

// OperatorVersionSpec is the content of a package that the controller needs.
type OperatorVersionSpec struct {
	// Operator refers to the Operator that this is a version of, in the same namespace. As
	// in KUDO it may be absent; the operator then has an empty name.
	Operator corev1.ObjectReference `json:"operator,omitempty"`
	// Version is the version of the package. Upgrades compare it.
	Version string `json:"version,omitempty"`
	// AppVersion is the version of the application that the package runs.
	AppVersion string `json:"appVersion,omitempty"`
	// Templates holds the text of the templates, by their path below templates/.
	Templates  map[string]string `json:"templates,omitempty"`
	Tasks      []Task            `json:"tasks,omitempty"`
	Parameters []Parameter       `json:"parameters,omitempty"`
	Plans      map[string]Plan   `json:"plans,omitempty"`
	// ConnectionString and UpgradableFrom are fields of KUDO's API. The server stores
	// them. Nothing reads them.
	ConnectionString string                   `json:"connectionString,omitempty"`
	UpgradableFrom   []corev1.ObjectReference `json:"upgradableFrom,omitempty"`
}

// Parameter is the definition of a parameter. Its values are strings; the value of an
// array or a map is YAML text.
type Parameter struct {
	Name        string `json:"name,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	// Required is false if it is absent, as in KUDO. In params.yaml it defaults to true.
	Required *bool   `json:"required,omitempty"`
	Default  *string `json:"default,omitempty"`
	Trigger  string  `json:"trigger,omitempty"`
	// OldType is the field in which earlier releases stored the type. It counts if Type is
	// empty. Binding hashes the fields in this order, so OldType stays in its place.
	OldType   string   `json:"type,omitempty"`
	Immutable *bool    `json:"immutable,omitempty"`
	Enum      []string `json:"enum,omitempty"`
	// Type is the type of the value, under the name that KUDO has for it.
	Type string `json:"value-type,omitempty"`
}

// Strategy decides whether phases or steps run one after the other or at the same time.
type Strategy string

// The values of Strategy. The empty string means Serial.
const (
	Serial   Strategy = "serial"
	Parallel Strategy = "parallel"
)

// Plan is a list of phases.
type Plan struct {
	Strategy Strategy `json:"strategy,omitempty"`
	Phases   []Phase  `json:"phases,omitempty"`
}

// Phase is a list of steps.
type Phase struct {
	Name     string   `json:"name,omitempty"`
	Strategy Strategy `json:"strategy,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
}

// Step is a list of tasks, by name, in the order in which they run.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Tasks []string `json:"tasks,omitempty"`
}

// TaskKind is the type of a task.
type TaskKind string

// The values of TaskKind.
const (
	ApplyTask        TaskKind = "Apply"
	DeleteTask       TaskKind = "Delete"
	ToggleTask       TaskKind = "Toggle"
	PipeTask         TaskKind = "Pipe"
	KudoOperatorTask TaskKind = "KudoOperator"
	DummyTask        TaskKind = "Dummy"
)

// Task is one action of a step.
type Task struct {
	Name string   `json:"name,omitempty"`
	Kind TaskKind `json:"kind,omitempty"`
	Spec TaskSpec `json:"spec,omitempty"`
}

// TaskSpec has the fields of all kinds of tasks.
type TaskSpec struct {
	// Resources are the templates of Apply, Delete and Toggle.
	Resources []string `json:"resources,omitempty"`
	// Parameter is the boolean parameter that decides whether Toggle applies or deletes.
	Parameter string `json:"parameter,omitempty"`
	// WantErr, Fatal and Done determine the outcome of Dummy.
	WantErr bool `json:"wantErr,omitempty"`
	Fatal   bool `json:"fatal,omitempty"`
	Done    bool `json:"done,omitempty"`
	// Pod is the template of the pod that a Pipe task runs, Pipe the files it reads.
	Pod  string     `json:"pod,omitempty"`
	Pipe []PipeSpec `json:"pipe,omitempty"`
	// Package, InstanceName, AppVersion and OperatorVersion select the operator that
	// KudoOperator installs. ParameterFile is the template of its parameters.
	Package         string `json:"package,omitempty"`
	InstanceName    string `json:"instanceName,omitempty"`
	AppVersion      string `json:"appVersion,omitempty"`
	OperatorVersion string `json:"operatorVersion,omitempty"`
	ParameterFile   string `json:"parameterFile,omitempty"`
}

// PipeSpec is one file that a Pipe task reads from its pod.
type PipeSpec struct {
	File    string `json:"file,omitempty"`
	EnvFile string `json:"envFile,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Key     string `json:"key,omitempty"`
}

// OperatorVersionList is a list of OperatorVersions.
//
// +kubebuilder:object:root=true
type OperatorVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OperatorVersion `json:"items"`
}
