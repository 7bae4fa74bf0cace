// Package defaultclass has the admission plugins DefaultStorageClass and DefaultIngressClass
// of Kubernetes. They set the class of a new PersistentVolumeClaim or Ingress that names
// none. A class is the default if an annotation says so. Of several default classes, the
// newest one counts.
//
//	plugin := defaultclass.NewStorage(factory.Storage().V1().StorageClasses())
//
// The plugins read the classes from an informer. An object that is created right after its
// default class may therefore get no class.
package defaultclass
