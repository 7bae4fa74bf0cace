package reference

import "fmt"

// conditionReasons describes the reasons that the source writes into conditions without a constant
// of its own.
var conditionReasons = map[string]string{
	"AgentReady":              "The condition `Ready` of a Node: an agent writes volumes there.",
	"AllValid":                "The condition `StoredObjectsValid` of a CustomResourceDefinition: the server would accept all stored objects if they were written again.",
	"AutoApproved":            "The condition `Approved` of a CertificateSigningRequest: the server approved the request of a node for its own certificate.",
	"Computing":               "The condition `StoredObjectsValid` of a CustomResourceDefinition: the server reads the stored objects, after a change of the definition or for the first time.",
	"ContentDeleted":          "A condition of a namespace: the deletion of its objects has no errors.",
	"ContentHasNoFinalizers":  "A condition of a namespace: no object in it waits for a finalizer.",
	"ContentRemoved":          "A condition of a namespace: no object is left in it.",
	"DeletionByPodGC":         "The condition `DisruptionTarget` of a pod whose node does not exist.",
	"ChangeRequested":         "The condition `ClosedForWrites` of a CustomResourceDefinition: a server reads its last objects, to decide whether the definition can change.",
	"DeletionRequested":       "The condition `ClosedForCreation` of a CustomResourceDefinition: a server reads its objects, to decide whether it can be deleted.",
	"EvictionByEvictionAPI":   "The condition `DisruptionTarget` of a pod that was evicted.",
	"InstanceDeletionPending": "The condition `Terminating` of a CustomResourceDefinition: its objects are being deleted.",
	"Invalid":                 "The condition `StoredObjectsValid` of a CustomResourceDefinition: the server would refuse some stored objects if they were written again.",
	"MigrationCompleted":      "The condition `Running` of a StorageVersionMigration that has ended.",
	"MigrationRunning":        "The condition `Running` of a StorageVersionMigration: the server writes the objects. The message has their number.",
	"ObjectKept":              "An Event about an object that stays although its owner is deleted, because it must be kept.",
	"OwnerReplaced":           "An Event about a dependent of a replaced object: the server refuses to change its owner reference, so that it stays as it is.",
	"ParsedGroupVersions":     "A condition of a namespace: the server could read the name of every API.",
	"ResourcesDiscovered":     "A condition of a namespace: the server knows all kinds of objects that may be in it.",
	"SignerValidationFailure": "The condition `Failed` of a CertificateSigningRequest: the signer does not issue such a certificate.",
	"Unreadable":              "The condition `StoredObjectsValid` of a CustomResourceDefinition: the server cannot read the stored objects.",

	"StorageVersionMigrationFailed":    "The condition `Failed` of a StorageVersionMigration: the message names the object that cannot be written.",
	"StorageVersionMigrationSucceeded": "The condition `Succeeded` of a StorageVersionMigration: all objects are stored as the server stores them now.",
}

// reasonRow returns the row of a reason without a constant. A reason without a description is an
// error.
func reasonRow(reason constant) ([]string, error) {
	text, known := conditionReasons[reason.value]
	if !known {
		return nil, fmt.Errorf("%s sets the reason %s, which package cli/reference does not describe: add it to conditionReasons",
			reason.folder, reason.value)
	}
	return []string{code(reason.value), text}, nil
}
