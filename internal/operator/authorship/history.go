package authorship

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
)

// historySubject is what the sealed history of an Instance is about.
type historySubject struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Instance  types.UID `json:"instance"`
	// Records is the text of the annotation with the recorded parameters.
	Records string `json:"records"`
}

// encodedHistory is the sealed form of a history.
type encodedHistory struct {
	Users   []User             `json:"users,omitempty"`
	Authors []map[string][]int `json:"authors"`
}

func historyOf(instance *api.Instance) Subject {
	return Subject{Purpose: "recorded parameters of an Instance", About: historySubject{
		Namespace: instance.Namespace, Name: instance.Name, Instance: instance.UID,
		Records: instance.Annotations[api.RecordsAnnotation],
	}}
}

// SetHistory seals the authors of the recorded parameters of an Instance, in the order of
// api.Records. The records must have been set before. If api.SetRecords dropped the oldest
// records, SetHistory drops their authors too.
func (k *Keyring) SetHistory(ctx context.Context, instance *api.Instance, history []Authors) error {
	records, err := api.Records(instance)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		api.RemoveAnnotation(instance, api.SealedHistoryAnnotation)
		return nil
	}
	if len(history) < len(records) {
		return fmt.Errorf("authors of %d of %d records", len(history), len(records))
	}
	var content encodedHistory
	for _, authors := range history[len(history)-len(records):] {
		var indexes map[string][]int
		content.Users, indexes = indexAll(content.Users, authors)
		content.Authors = append(content.Authors, indexes)
	}
	text, err := k.Seal(ctx, historyOf(instance), content)
	if err != nil {
		return err
	}
	api.SetAnnotation(instance, api.SealedHistoryAnnotation, text)
	return nil
}

// History returns the authors of the recorded parameters of an Instance, in the order of
// api.Records. The error is ErrUnverified if they were not sealed for these records.
func (k *Keyring) History(ctx context.Context, instance *api.Instance) ([]Authors, error) {
	var content encodedHistory
	if err := k.Open(ctx, historyOf(instance), instance.Annotations[api.SealedHistoryAnnotation], &content); err != nil {
		return nil, fmt.Errorf("the recorded parameters: %w", err)
	}
	all := make([]Authors, len(content.Authors))
	for i, indexes := range content.Authors {
		all[i] = resolve(content.Users, indexes)
	}
	return all, nil
}
