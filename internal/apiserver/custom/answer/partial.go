package answer

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// partial is the form of a LIST that holds only the metadata of each object: a list of metadata,
// which controllers ask for, or a table, which kubectl prints.
type partial struct {
	// version is a version of the group meta.k8s.io.
	version schema.GroupVersion
	// table returns the cells of a table. It is nil for a list of metadata.
	table func(*object.List) (*metav1.Table, error)
}

// appendMetadata appends the text of the metadata of an object.
func (p *partial) appendMetadata(to []byte, obj *object.Object) ([]byte, error) {
	out := meta.AsPartialObjectMetadata(obj)
	out.SetGroupVersionKind(p.version.WithKind("PartialObjectMetadata"))
	text, err := json.Marshal(out)
	return append(to, text...), err
}

// frame returns the text around the metadata of the objects of a list.
func (p *partial) frame(list *object.List) (frame, error) {
	if p.table != nil {
		return p.tableFrame(list)
	}
	out := &metav1.PartialObjectMetadataList{ListMeta: listMeta(list)}
	out.SetGroupVersionKind(p.version.WithKind("PartialObjectMetadataList"))
	if len(list.Items) > 0 {
		out.Items = []metav1.PartialObjectMetadata{}
	}
	return frameAround(out, len(list.Items))
}

func (p *partial) tableFrame(list *object.List) (frame, error) {
	table, err := p.table(list)
	if err != nil {
		return frame{}, err
	}
	if len(table.Rows) != len(list.Items) {
		return frame{}, fmt.Errorf("a table of %d objects has %d rows", len(list.Items), len(table.Rows))
	}
	rows := make([][]byte, len(table.Rows))
	for i := range table.Rows {
		cells, err := json.Marshal(table.Rows[i].Cells)
		if err != nil {
			return frame{}, err
		}
		rows[i] = fmt.Appendf(nil, `{"cells":%s,"object":`, cells)
	}
	table.SetGroupVersionKind(p.version.WithKind("Table"))
	table.Rows = table.Rows[:0]
	out, err := frameAround(table, len(rows))
	out.rows = rows
	return out, err
}

func listMeta(list *object.List) metav1.ListMeta {
	return metav1.ListMeta{
		ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
	}
}
