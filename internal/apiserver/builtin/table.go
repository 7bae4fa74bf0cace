package builtin

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/columns"
)

// tableConvertor makes the table of one kind that kubectl prints.
type tableConvertor struct {
	table columns.Table
}

func newTableConvertor(kind native.Kind) rest.TableConvertor {
	table, ok := columns.For(kind.Object)
	if !ok {
		return rest.NewDefaultTableConvertor(schema.GroupResource{Group: kind.GroupVersion.Group, Resource: kind.Resource})
	}
	return tableConvertor{table: table}
}

// ConvertToTable implements rest.TableConvertor.
func (c tableConvertor) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if opts, ok := options.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		table.ColumnDefinitions = c.table.Columns
	}
	now := time.Now()
	if !meta.IsListType(obj) {
		table.ResourceVersion = objectMeta(obj).GetResourceVersion()
		table.Rows = []metav1.TableRow{c.row(obj, now)}
		return table, nil
	}
	list, err := meta.ListAccessor(obj)
	if err != nil {
		return nil, err
	}
	table.ResourceVersion = list.GetResourceVersion()
	table.Continue = list.GetContinue()
	table.RemainingItemCount = list.GetRemainingItemCount()
	table.Rows = make([]metav1.TableRow, 0, meta.LenList(obj))
	err = meta.EachListItem(obj, func(item runtime.Object) error {
		table.Rows = append(table.Rows, c.row(item, now))
		return nil
	})
	return table, err
}

func (c tableConvertor) row(obj runtime.Object, now time.Time) metav1.TableRow {
	return metav1.TableRow{Cells: c.table.Cells(obj, now), Object: runtime.RawExtension{Object: obj}}
}
