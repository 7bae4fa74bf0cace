package api

// Labels and annotations of what a package renders. Packages select on the
// labels, so their names and values are KUDO's.
const (
	HeritageLabel = "heritage"
	Heritage      = "kudo"
	OperatorLabel = "kudo.dev/operator"
	InstanceLabel = "kudo.dev/instance"

	PlanAnnotation  = "kudo.dev/plan"
	PhaseAnnotation = "kudo.dev/phase"
	StepAnnotation  = "kudo.dev/step"
)

// Annotations of rendered objects.
const (
	// WaitAnnotation on an object of a package says whether a plan waits until the
	// object is ready: "false" for never, "true" also where nothing seems to run it.
	WaitAnnotation = "holdfast.dev/wait"
	// OwnerAnnotation is the UID of the Instance of an object that lives in no
	// namespace, and can have no owner reference to one that does.
	OwnerAnnotation = "holdfast.dev/instance-uid"
)

// Annotations of an Instance.
const (
	// GivenAnnotation is the consent of a client: see Given.
	GivenAnnotation = "holdfast.dev/given-parameters"
	// RollbackAnnotation asks to go back to the OperatorVersion it names, whose
	// values are then restored. Admission removes it when it is done.
	RollbackAnnotation = "holdfast.dev/rollback-to"
	// RecordsAnnotation is set by admission only: see Record.
	RecordsAnnotation = "holdfast.dev/recorded-parameters"
	// RequesterAnnotation is set by admission only: see Requester.
	RequesterAnnotation = "holdfast.dev/requested-by"
	// BindingAnnotation is set by admission only: see Binding.
	BindingAnnotation = "holdfast.dev/judged-with"

	// CleanupFinalizer keeps an Instance until its plan cleanup has run.
	CleanupFinalizer = "kudo.dev.instance.cleanup"
)
