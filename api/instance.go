package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Instance is one installation of an OperatorVersion.
//
// +kubebuilder:object:root=true
type Instance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   InstanceSpec   `json:"spec,omitempty"`
	Status InstanceStatus `json:"status,omitempty"`
}

// InstanceSpec is the desired state of an Instance.
type InstanceSpec struct {
	// OperatorVersion refers to the OperatorVersion that is installed. Without a namespace
	// it is in that of the Instance.
	OperatorVersion corev1.ObjectReference `json:"operatorVersion,omitempty"`
	// Parameters holds the values that differ from the defaults, and the values of
	// all immutable parameters, by parameter name.
	Parameters map[string]string `json:"parameters,omitempty"`
	// PlanExecution is the plan that is running or is to be run.
	PlanExecution PlanExecution `json:"planExecution,omitempty"`
}

// PlanExecution is one run of a plan. A client sets PlanName to run a plan by name.
// Admission sets PlanName when changed parameters or another OperatorVersion
// require a plan.
type PlanExecution struct {
	// PlanName is empty when no plan is running.
	PlanName string `json:"planName,omitempty"`
	// UID identifies the run. Admission sets it; clients cannot choose it.
	UID types.UID `json:"uid,omitempty"`
	// Status is FatalError after a client has cancelled the run: the client removes PlanName
	// and sets Status.
	Status State `json:"status,omitempty"`
}

// InstanceStatus is the observed state of an Instance. The controller writes it.
type InstanceStatus struct {
	// PlanStatus holds the last run of each plan, by plan name.
	PlanStatus map[string]PlanStatus `json:"planStatus,omitempty"`
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
	// Objects lists the objects that plans applied or are about to apply. The
	// controller uses it to delete objects that the templates no longer render.
	Objects []AppliedObject `json:"objects,omitempty"`
	// WorkingVersion is the last OperatorVersion with which a plan deploy, update or upgrade was
	// complete: see Instance.VersionKey. It is empty if there was none, or if only an earlier
	// release ran plans. A rollback goes to a version that was once here.
	WorkingVersion string `json:"workingVersion,omitempty"`
}

// ReadyCondition is the type of the condition that is true when the last run of a
// plan is complete. The reason of the condition is the State of that run.
const ReadyCondition = "Ready"

// AppliedObject identifies an object that a plan applies. Namespace is empty for
// cluster-scoped objects.
type AppliedObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Run is the UID of the last PlanExecution that applied the object or was about
	// to apply it.
	Run types.UID `json:"run,omitempty"`
}

// State is the progress of a plan, a phase or a step.
type State string

// The values of State. The controller retries a step in state Error; FatalError
// ends the run.
const (
	NeverRun   State = "NEVER_RUN"
	Pending    State = "PENDING"
	InProgress State = "IN_PROGRESS"
	Error      State = "ERROR"
	FatalError State = "FATAL_ERROR"
	Complete   State = "COMPLETE"
)

// Ended reports whether the run is over: Complete or FatalError.
func (s State) Ended() bool { return s == Complete || s == FatalError }

// Running reports whether the plan has started and has not ended.
func (s State) Running() bool { return s == Pending || s == InProgress || s == Error }

// PlanStatus is the status of the last run of a plan.
type PlanStatus struct {
	Name                 string        `json:"name,omitempty"`
	Status               State         `json:"status,omitempty"`
	Message              string        `json:"message,omitempty"`
	LastUpdatedTimestamp *metav1.Time  `json:"lastUpdatedTimestamp,omitempty"`
	Phases               []PhaseStatus `json:"phases,omitempty"`
	// UID is the UID of the PlanExecution that this status describes.
	UID types.UID `json:"uid,omitempty"`
}

// PhaseStatus is the status of one phase of a run.
type PhaseStatus struct {
	Name    string       `json:"name,omitempty"`
	Status  State        `json:"status,omitempty"`
	Message string       `json:"message,omitempty"`
	Steps   []StepStatus `json:"steps,omitempty"`
}

// StepStatus is the status of one step of a run.
type StepStatus struct {
	Name    string `json:"name,omitempty"`
	Status  State  `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// Done lists the tasks of an unfinished step that are already complete. The
	// controller does not run them again.
	Done []string `json:"done,omitempty"`
}

// InstanceList is a list of Instances.
//
// +kubebuilder:object:root=true
type InstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Instance `json:"items"`
}
