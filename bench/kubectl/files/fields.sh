# Prints the managers of objects, sorted, with the fields of each, and the objects without them.
for object in "$@"; do
  kubectl get "$object" -o go-template='{{range .metadata.managedFields}}{{.manager}} {{.operation}} {{.fieldsV1}}{{"\n"}}{{end}}' | sort
  kubectl get "$object" -o yaml | grep -v resourceVersion
done
