package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"

	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// The conversion of the metadata gives the same result whether the field sets are taken
// out before it or not.
func TestTakeSets(t *testing.T) {
	for name, metadata := range map[string]string{
		"none":        `{"name": "a", "managedFields": []}`,
		"not a list":  `{"name": "a"}`,
		"empty":       `{"managedFields": [{"manager": "a", "fieldsType": "FieldsV1", "fieldsV1": {}}]}`,
		"null":        `{"managedFields": [{"manager": "a", "fieldsV1": null}, {}]}`,
		"sets":        `{"managedFields": [{"manager": "a", "fieldsV1": {"f:spec": {".": {}, "k:{\"a\":1.0}": {"f:a": {}}}}}, {"manager": "b"}]}`,
		"numbers":     `{"managedFields": [{"manager": "a", "fieldsV1": {"f:spec": 1.0, "f:a": {"b": [1e3, null, "x"]}}}]}`,
		"unknown":     `{"managedFields": [{"manager": "a", "other": 1, "fieldsV1": {"f:spec": {}}}], "other": {}}`,
		"a time":      `{"managedFields": [{"time": "2026-01-02T03:04:05+01:00", "fieldsV1": {"f:a": {}}}]}`,
		"other shape": `{"managedFields": [{"fieldsV1": []}, {"fieldsV1": "a"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			want, got := metadataOnly(t, metadata), metadataOnly(t, metadata)
			wantUnknown := convertMetadata(t, want)
			owned := takeSets(got)
			gotUnknown := convertMetadata(t, got)
			owned.restore(got)
			if diff := cmp.Diff(want, got) + cmp.Diff(wantUnknown, gotUnknown); diff != "" {
				t.Errorf("-converted whole +converted without the field sets:\n%s", diff)
			}
		})
	}
}

// metadataOnly returns an object of which a client has sent only the metadata, as the server decodes it.
func metadataOnly(t *testing.T, metadata string) map[string]any {
	t.Helper()
	var format text.JSON
	obj, err := format.Decode([]byte(`{"metadata": ` + metadata + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func convertMetadata(t *testing.T, obj map[string]any) []string {
	t.Helper()
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := objectmeta.SetObjectMeta(obj, meta); err != nil {
		t.Fatal(err)
	}
	return unknown
}
