// Package references finds the ConfigMaps and Secrets that an object refers to.
//
//	rules, _ := references.BuiltIn(schema.GroupResource{Group: "apps", Resource: "deployments"})
//	for _, found := range rules.Find(object) { // a decoded JSON object
//		fmt.Println(found.Kind, found.Name, found.Path)
//	}
//
// A rule is a line of text: a kind, and the place of the reference. In the place, [*] is every item of a list, and * is every value of a map.
//
//	Secret spec.tls.secretName         the value is the name of a Secret
//	ConfigMap spec.configs[*]          the value is a name, or an object with the fields name, namespace and kind
//	Secret spec.name spec.namespace    the second place has the namespace of the Secret; only the last name of both may differ
//	Secret spec.ca /                   the value is a namespace, a slash and a name, or a name alone
//	PodTemplate spec.template          the value is a template of pods
//	PodTemplate *                      all templates of pods that the schema of the definition describes, see Expand
//	PodSpec spec.pod                   the value is the spec of a pod
//	Strings spec.values                every string below this place may be the name of a ConfigMap or a Secret
//
// A schema describes a template of pods where it has an object with the field spec, which has the field containers, a list of objects with the fields
// name and image. All versions of a definition count. A template whose fields the schema leaves open is not found.
//
// A reference without a namespace is one in the namespace of the object; if the object has none, it may be one in any namespace. Only a rule that
// asks for it finds a reference to another namespace: a pod has none, so that its author cannot keep the objects of others from being deleted. A
// text that cannot be the name of an object is no reference. A name may have placeholders such as ${pvc.name}, as in the parameters of a
// StorageClass; see Reference.Matches.
//
// [Rules] find references in decoded JSON, with the place of each. [Typed] finds them in the Go types of Kubernetes, without their places: the
// server looks into each object that changes, so that is what has to be cheap. Everything here is safe for concurrent use.
package references
