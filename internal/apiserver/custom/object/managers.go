package object

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// GetManagedFields implements metav1.Object. It returns what Unstructured returns, for a quarter
// of the memory: the handlers call it seven times for each update. Entries that are
// not as the field manager writes them are left to Unstructured.
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry {
	metadata, _ := o.Object["metadata"].(map[string]any)
	items, ok := metadata["managedFields"].([]any)
	if !quick {
		return o.Unstructured.GetManagedFields()
	}
	if !ok {
		return nil
	}
	entries := make([]metav1.ManagedFieldsEntry, len(items))
	for i, item := range items {
		if !o.readManager(item, &entries[i]) {
			return o.Unstructured.GetManagedFields()
		}
	}
	return entries
}

// readManager converts the entry of one manager. It returns false for an entry with an
// unexpected value.
func (o *Object) readManager(item any, to *metav1.ManagedFieldsEntry) bool {
	entry, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range entry {
		if key == "fieldsV1" {
			fields, ok := value.(map[string]any)
			if !ok || fields == nil {
				return false
			}
			raw, err := o.textOf(fields)
			if err != nil {
				return false
			}
			to.FieldsV1 = &metav1.FieldsV1{Raw: raw} //nolint:staticcheck // SetRawBytes copies the text
			continue
		}
		s, ok := value.(string)
		if !ok {
			return false
		}
		switch key {
		case "manager":
			to.Manager = s
		case "operation":
			to.Operation = metav1.ManagedFieldsOperationType(s)
		case "apiVersion":
			to.APIVersion = s
		case "fieldsType":
			to.FieldsType = s
		case "subresource":
			to.Subresource = s
		case "time":
			at, err := time.Parse(time.RFC3339, s)
			if err != nil {
				return false
			}
			to.Time = &metav1.Time{Time: at.Local()}
		}
	}
	return true
}

// textOf returns the text of a set of fields. It may be shared, so no code may change it.
func (o *Object) textOf(fields map[string]any) ([]byte, error) {
	if known := o.Sets.TextOf(fields); known != nil {
		return known, nil
	}
	var format text.JSON
	return format.Append(make([]byte, 0, fieldset.TextSize(fields)), fields)
}

// fieldsOf returns the set of fields with a text.
func (o *Object) fieldsOf(raw []byte) (map[string]any, error) {
	if o.Sets != nil {
		return o.Sets.Decode(raw)
	}
	var format text.JSON
	return format.Decode(raw)
}

// SetManagedFields implements metav1.Object. It sets what Unstructured sets, without a copy.
func (o *Object) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	metadata, ok := o.Object["metadata"].(map[string]any)
	if !quick || entries == nil || !ok {
		o.Unstructured.SetManagedFields(entries)
		return
	}
	items := make([]any, len(entries))
	for i := range entries {
		item, ok := o.writeManager(&entries[i])
		if !ok {
			o.Unstructured.SetManagedFields(entries)
			return
		}
		items[i] = item
	}
	metadata["managedFields"] = items
}

// writeManager is the reverse of readManager.
func (o *Object) writeManager(entry *metav1.ManagedFieldsEntry) (map[string]any, bool) {
	item := make(map[string]any, 7)
	set := func(key, value string) {
		if value != "" {
			item[key] = value
		}
	}
	set("manager", entry.Manager)
	set("operation", string(entry.Operation))
	set("apiVersion", entry.APIVersion)
	set("fieldsType", entry.FieldsType)
	set("subresource", entry.Subresource)
	if entry.Time != nil {
		if entry.Time.IsZero() {
			return nil, false
		}
		set("time", entry.Time.UTC().Format(time.RFC3339))
	}
	if entry.FieldsV1 != nil {
		fields, err := o.fieldsOf(entry.FieldsV1.GetRawBytes())
		if err != nil || fields == nil {
			return nil, false
		}
		item["fieldsV1"] = fields
	}
	return item, true
}
