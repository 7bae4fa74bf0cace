package columns

import (
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

var flowSchemaSpec = flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()

var flowSchemas = table(name,
	text("PriorityLevel", flowSchemaSpec["priorityLevelConfiguration"], func(s *flowcontrolv1.FlowSchema) string {
		return s.Spec.PriorityLevelConfiguration.Name
	}),
	number("MatchingPrecedence", flowSchemaSpec["matchingPrecedence"], func(s *flowcontrolv1.FlowSchema) int32 {
		return s.Spec.MatchingPrecedence
	}),
	text("DistinguisherMethod", flowSchemaSpec["distinguisherMethod"], func(s *flowcontrolv1.FlowSchema) string {
		if s.Spec.DistinguisherMethod == nil {
			return none
		}
		return string(s.Spec.DistinguisherMethod.Type)
	}),
	age,
	text("MissingPL", flowcontrolv1.FlowSchemaStatus{}.SwaggerDoc()["conditions"], func(s *flowcontrolv1.FlowSchema) string {
		for _, c := range s.Status.Conditions {
			if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
				return string(c.Status)
			}
		}
		return "?"
	}))

var (
	priorityLevelSpec = flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc()
	limitedLevel      = flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc()
	queuingOfLevel    = flowcontrolv1.QueuingConfiguration{}.SwaggerDoc()
)

var priorityLevels = table(name,
	text("Type", priorityLevelSpec["type"], func(l *flowcontrolv1.PriorityLevelConfiguration) string { return string(l.Spec.Type) }),
	text("NominalConcurrencyShares", limitedLevel["nominalConcurrencyShares"], func(l *flowcontrolv1.PriorityLevelConfiguration) string {
		if l.Spec.Limited == nil || l.Spec.Limited.NominalConcurrencyShares == nil {
			return none
		}
		return strconv.Itoa(int(*l.Spec.Limited.NominalConcurrencyShares))
	}),
	queueColumn("Queues", queuingOfLevel["queues"], func(q *flowcontrolv1.QueuingConfiguration) int32 { return q.Queues }),
	queueColumn("HandSize", queuingOfLevel["handSize"], func(q *flowcontrolv1.QueuingConfiguration) int32 { return q.HandSize }),
	queueColumn("QueueLengthLimit", queuingOfLevel["queueLengthLimit"], func(q *flowcontrolv1.QueuingConfiguration) int32 {
		return q.QueueLengthLimit
	}),
	age)

// queueColumn returns a column about the queues of a priority level. The cell of a level without queues is <none>.
func queueColumn(name, doc string, cell func(*flowcontrolv1.QueuingConfiguration) int32) column {
	return text(name, doc, func(l *flowcontrolv1.PriorityLevelConfiguration) string {
		if l.Spec.Limited == nil || l.Spec.Limited.LimitResponse.Queuing == nil {
			return none
		}
		return strconv.Itoa(int(cell(l.Spec.Limited.LimitResponse.Queuing)))
	})
}
