package validity

import (
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"holdfast.dev/holdfast/internal/definition"
)

var invalidObjects = prometheus.NewDesc("holdfast_definition_invalid_objects",
	"Stored objects that the server would refuse if they were written again, by definition, from the condition StoredObjectsValid. "+
		"A definition without objects, or whose objects are being read, has no value.", []string{"definition"}, nil)

// Describe implements prometheus.Collector.
func (c *Controller) Describe(out chan<- *prometheus.Desc) { out <- invalidObjects }

// Collect implements prometheus.Collector. Every server has the values, because they are those of the conditions.
func (c *Controller) Collect(out chan<- prometheus.Metric) {
	for _, obj := range c.Definitions.GetStore().List() {
		crd, ok := obj.(*definition.CustomResourceDefinition)
		if !ok {
			continue
		}
		condition := conditionOf(crd)
		if condition == nil || condition.Status == apiextensionsv1.ConditionUnknown {
			continue
		}
		invalid := 0
		if condition.Status == apiextensionsv1.ConditionFalse {
			if invalid, ok = invalidIn(condition.Message); !ok {
				continue
			}
		}
		out <- prometheus.MustNewConstMetric(invalidObjects, prometheus.GaugeValue, float64(invalid), crd.Name)
	}
}
