package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Consent lists parameters that an upgrade to one OperatorVersion makes immutable or
// adds as immutable. The client accepts the value that each of them then gets. The
// Consent may stay on the Instance, because it has no effect on an upgrade to any other
// OperatorVersion.
type Consent struct {
	// OperatorVersion is the target of the upgrade: see Instance.VersionKey.
	OperatorVersion string `json:"operatorVersion"`
	// Names lists the parameters.
	Names []string `json:"names"`
}

// ConsentedNames returns the names of the parameters that the client consented to
// for an upgrade to an OperatorVersion, nil if there are none.
func ConsentedNames(instance metav1.Object, operatorVersion string) ([]string, error) {
	var consent Consent
	if _, err := read(instance, ConsentAnnotation, &consent); err != nil {
		return nil, err
	}
	if consent.OperatorVersion != operatorVersion {
		return nil, nil
	}
	return consent.Names, nil
}

// Record holds the parameters that an Instance had when it was upgraded from an
// OperatorVersion to a later one. A rollback restores them.
type Record struct {
	// OperatorVersion is the version that the upgrade left: see Instance.VersionKey.
	OperatorVersion string `json:"operatorVersion"`
	// Parameters are the values of spec.parameters at that time.
	Parameters map[string]string `json:"parameters"`
}

const (
	// maxRecords is the number of earlier versions that an Instance records.
	maxRecords = 5
	// maxRecordsSize is half of the size that Kubernetes allows for all annotations of
	// an object. The bound keeps the records from making an upgrade too large to store.
	maxRecordsSize = 128 << 10
)

// Records returns the records of the versions that an Instance had, oldest first.
func Records(instance metav1.Object) ([]Record, error) {
	var records []Record
	_, err := read(instance, RecordsAnnotation, &records)
	return records, err
}

// LastRecord returns the index of the last record of an OperatorVersion, -1 if there is none.
func LastRecord(records []Record, operatorVersion string) int {
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].OperatorVersion == operatorVersion {
			return i
		}
	}
	return -1
}

// SetRecords replaces the records of an Instance. It drops the oldest records until
// the rest is within maxRecords and maxRecordsSize, and removes the annotation when
// none is left.
func SetRecords(instance metav1.Object, records []Record) error {
	if len(records) > maxRecords {
		records = records[len(records)-maxRecords:]
	}
	for ; len(records) > 0; records = records[1:] {
		if err := write(instance, RecordsAnnotation, records); err != nil {
			return err
		}
		if len(instance.GetAnnotations()[RecordsAnnotation]) <= maxRecordsSize {
			return nil
		}
	}
	RemoveAnnotation(instance, RecordsAnnotation)
	return nil
}

// RequestRollback asks admission to roll an Instance back to the OperatorVersion that
// it had before.
func RequestRollback(instance metav1.Object, operatorVersion string) {
	SetAnnotation(instance, RollbackAnnotation, operatorVersion)
}

// RequestTakeOver asks admission to make the user of this write the author of the values of
// some parameters, although the write does not change them.
func RequestTakeOver(instance metav1.Object, parameters []string) error {
	return write(instance, TakeOverAnnotation, parameters)
}

// TakenOver returns the names of the parameters that a write takes over, nil if there are
// none.
func TakenOver(instance metav1.Object) ([]string, error) {
	var parameters []string
	_, err := read(instance, TakeOverAnnotation, &parameters)
	return parameters, err
}

// SetConsent stores a Consent on an Instance.
func SetConsent(instance metav1.Object, consent Consent) error {
	return write(instance, ConsentAnnotation, consent)
}

// read decodes the JSON text of an annotation into target; false if the annotation is
// absent.
func read(object metav1.Object, annotation string, target any) (bool, error) {
	text, found := object.GetAnnotations()[annotation]
	if !found {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		return false, fmt.Errorf("metadata.annotations[%s]: %w", annotation, err)
	}
	return true, nil
}

// write stores content in an annotation, as JSON.
func write(object metav1.Object, annotation string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %w", annotation, err)
	}
	SetAnnotation(object, annotation, string(text))
	return nil
}

// SetAnnotation sets an annotation of an object.
func SetAnnotation(object metav1.Object, annotation, text string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = text
	object.SetAnnotations(annotations)
}

// RemoveAnnotation removes an annotation of an object.
func RemoveAnnotation(object metav1.Object, annotation string) {
	annotations := object.GetAnnotations()
	delete(annotations, annotation)
	object.SetAnnotations(annotations)
}
