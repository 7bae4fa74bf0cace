package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Instance is an operator version, installed.
//
// +kubebuilder:object:root=true
type Instance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   InstanceSpec   `json:"spec,omitempty"`
	Status InstanceStatus `json:"status,omitempty"`
}

// InstanceSpec is what is wanted.
type InstanceSpec struct {
	// OperatorVersion that is installed, of the same namespace.
	OperatorVersion corev1.ObjectReference `json:"operatorVersion,omitempty"`
	// Parameters that have a value other than the default, and all that are
	// immutable.
	Parameters map[string]string `json:"parameters,omitempty"`
	// PlanExecution is the plan that runs or shall run.
	PlanExecution PlanExecution `json:"planExecution,omitempty"`
}

// PlanExecution is one run of a plan. A client sets PlanName to run a plan;
// admission sets it for changed parameters and versions, and gives every run a
// UID.
type PlanExecution struct {
	PlanName string    `json:"planName,omitempty"`
	UID      types.UID `json:"uid,omitempty"`
	Status   State     `json:"status,omitempty"`
}

// InstanceStatus is what has become of it.
type InstanceStatus struct {
	// PlanStatus by the name of the plan.
	PlanStatus map[string]PlanStatus `json:"planStatus,omitempty"`
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
	// Objects that plans applied, or are about to. What is no longer rendered is
	// found here and removed.
	Objects []AppliedObject `json:"objects,omitempty"`
}

// ReadyCondition says whether the last run of a plan is complete. Its reason is
// the State of that run.
const ReadyCondition = "Ready"

// AppliedObject names an object that a plan applies. Namespace is empty for
// objects that live in none.
type AppliedObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Run is the UID of the last PlanExecution that applied it, or was about to.
	Run types.UID `json:"run,omitempty"`
}

// State is how far a plan, phase or step is.
type State string

// The states. Error is retried, FatalError is not.
const (
	NeverRun   State = "NEVER_RUN"
	Pending    State = "PENDING"
	InProgress State = "IN_PROGRESS"
	Error      State = "ERROR"
	FatalError State = "FATAL_ERROR"
	Complete   State = "COMPLETE"
)

// Ended says that nothing more happens by itself.
func (s State) Ended() bool { return s == Complete || s == FatalError }

// Running says that a plan is not through.
func (s State) Running() bool { return s == Pending || s == InProgress || s == Error }

// PlanStatus is the last run of a plan.
type PlanStatus struct {
	Name                 string        `json:"name,omitempty"`
	Status               State         `json:"status,omitempty"`
	Message              string        `json:"message,omitempty"`
	LastUpdatedTimestamp *metav1.Time  `json:"lastUpdatedTimestamp,omitempty"`
	Phases               []PhaseStatus `json:"phases,omitempty"`
	// UID of the PlanExecution it is about.
	UID types.UID `json:"uid,omitempty"`
}

// PhaseStatus is how far a phase is.
type PhaseStatus struct {
	Name    string       `json:"name,omitempty"`
	Status  State        `json:"status,omitempty"`
	Message string       `json:"message,omitempty"`
	Steps   []StepStatus `json:"steps,omitempty"`
}

// StepStatus is how far a step is.
type StepStatus struct {
	Name    string `json:"name,omitempty"`
	Status  State  `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// Done are the tasks that are through while the step is not: they are not
	// done again.
	Done []string `json:"done,omitempty"`
}

// InstanceList is a list of them.
//
// +kubebuilder:object:root=true
type InstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Instance `json:"items"`
}
