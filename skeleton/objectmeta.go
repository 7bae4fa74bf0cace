package skeleton

// objectMeta is the structure of metav1.ObjectMeta. Metadata at the root and in embedded
// resources is pruned by it, not by the schema.
var objectMeta = metaObject(map[string]*node{
	"name":                       metaString,
	"generateName":               metaString,
	"namespace":                  metaString,
	"selfLink":                   metaString,
	"uid":                        metaString,
	"resourceVersion":            metaString,
	"generation":                 metaInteger,
	"creationTimestamp":          metaString,
	"deletionTimestamp":          metaString,
	"deletionGracePeriodSeconds": metaInteger,
	"labels":                     metaStringMap,
	"annotations":                metaStringMap,
	"finalizers":                 metaList(metaString),
	"ownerReferences": metaList(metaObject(map[string]*node{
		"apiVersion":         metaString,
		"kind":               metaString,
		"name":               metaString,
		"uid":                metaString,
		"controller":         metaBoolean,
		"blockOwnerDeletion": metaBoolean,
	})),
	"managedFields": metaList(metaObject(map[string]*node{
		"manager":     metaString,
		"operation":   metaString,
		"apiVersion":  metaString,
		"time":        metaString,
		"fieldsType":  metaString,
		"subresource": metaString,
		"fieldsV1":    {binding: objectKind, verbatim: true, rest: nothing},
	})),
})

var (
	metaString    = &node{binding: stringKind, rest: nothing}
	metaInteger   = &node{binding: integerKind, rest: nothing}
	metaBoolean   = &node{binding: booleanKind, rest: nothing}
	metaStringMap = &node{binding: objectKind, additional: metaString, rest: nothing}
)

func metaObject(properties map[string]*node) *node {
	return &node{binding: objectKind, properties: properties, rest: nothing}
}

func metaList(items *node) *node {
	return &node{binding: arrayKind, rest: items}
}
