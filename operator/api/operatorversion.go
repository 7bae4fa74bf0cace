package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorVersion is one package as the server keeps it. Its spec never changes.
//
// +kubebuilder:object:root=true
type OperatorVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OperatorVersionSpec `json:"spec,omitempty"`
}

// OperatorVersionSpec is everything of a package that a controller needs.
type OperatorVersionSpec struct {
	// Operator it is a version of, in the same namespace.
	Operator corev1.ObjectReference `json:"operator,omitempty"`
	// Version of the package, by which versions are ordered.
	Version string `json:"version,omitempty"`
	// AppVersion is the version of what the package runs.
	AppVersion string `json:"appVersion,omitempty"`
	// Templates by the path below templates/.
	Templates  map[string]string `json:"templates,omitempty"`
	Tasks      []Task            `json:"tasks,omitempty"`
	Parameters []Parameter       `json:"parameters,omitempty"`
	Plans      map[string]Plan   `json:"plans,omitempty"`
	// ConnectionString and UpgradableFrom are KUDO's; kept, not used.
	ConnectionString string                   `json:"connectionString,omitempty"`
	UpgradableFrom   []corev1.ObjectReference `json:"upgradableFrom,omitempty"`
}

// Parameter is the definition of a parameter. Values are strings; those of
// arrays and maps are YAML.
type Parameter struct {
	Name        string `json:"name,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	// Required is true unless it says false.
	Required  *bool    `json:"required,omitempty"`
	Default   *string  `json:"default,omitempty"`
	Trigger   string   `json:"trigger,omitempty"`
	Type      string   `json:"type,omitempty"`
	Immutable *bool    `json:"immutable,omitempty"`
	Enum      []string `json:"enum,omitempty"`
}

// Strategy is the order in which phases or steps run.
type Strategy string

// The strategies. Serial is also meant where there is none.
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

// Step names the tasks that it does, in this order.
type Step struct {
	Name  string   `json:"name,omitempty"`
	Tasks []string `json:"tasks,omitempty"`
}

// TaskKind is what a task does.
type TaskKind string

// The kinds of tasks.
const (
	ApplyTask        TaskKind = "Apply"
	DeleteTask       TaskKind = "Delete"
	ToggleTask       TaskKind = "Toggle"
	PipeTask         TaskKind = "Pipe"
	KudoOperatorTask TaskKind = "KudoOperator"
	DummyTask        TaskKind = "Dummy"
)

// Task is something a step does.
type Task struct {
	Name string   `json:"name,omitempty"`
	Kind TaskKind `json:"kind,omitempty"`
	Spec TaskSpec `json:"spec,omitempty"`
}

// TaskSpec has the fields of all kinds.
type TaskSpec struct {
	// Resources are the templates of Apply, Delete and Toggle.
	Resources []string `json:"resources,omitempty"`
	// Parameter decides whether Toggle applies or deletes.
	Parameter string `json:"parameter,omitempty"`
	// WantErr, Fatal and Done are the outcome of Dummy.
	WantErr bool `json:"wantErr,omitempty"`
	Fatal   bool `json:"fatal,omitempty"`
	Done    bool `json:"done,omitempty"`
	// Pod and Pipe are the template and the files of Pipe.
	Pod  string     `json:"pod,omitempty"`
	Pipe []PipeSpec `json:"pipe,omitempty"`
	// Package, InstanceName, AppVersion, OperatorVersion and ParameterFile say
	// which operator KudoOperator installs, and the template of its parameters.
	Package         string `json:"package,omitempty"`
	InstanceName    string `json:"instanceName,omitempty"`
	AppVersion      string `json:"appVersion,omitempty"`
	OperatorVersion string `json:"operatorVersion,omitempty"`
	ParameterFile   string `json:"parameterFile,omitempty"`
}

// PipeSpec is one file that a Pipe task takes from its pod.
type PipeSpec struct {
	File    string `json:"file,omitempty"`
	EnvFile string `json:"envFile,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Key     string `json:"key,omitempty"`
}

// OperatorVersionList is a list of them.
//
// +kubebuilder:object:root=true
type OperatorVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OperatorVersion `json:"items"`
}
