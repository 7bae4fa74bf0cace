package defaults

import flowcontrolv1 "k8s.io/api/flowcontrol/v1"

func flowSchema(s *flowcontrolv1.FlowSchema) {
	fill(&s.Spec.MatchingPrecedence, 1000)
}

func priorityLevel(l *flowcontrolv1.PriorityLevelConfiguration) {
	if limited := l.Spec.Limited; limited != nil {
		fillPtr(&limited.NominalConcurrencyShares, 30)
		fillPtr(&limited.LendablePercent, 0)
		if queuing := limited.LimitResponse.Queuing; queuing != nil {
			fill(&queuing.HandSize, 8)
			fill(&queuing.Queues, 64)
			fill(&queuing.QueueLengthLimit, 50)
		}
	}
	if exempt := l.Spec.Exempt; exempt != nil {
		fillPtr(&exempt.NominalConcurrencyShares, 0)
		fillPtr(&exempt.LendablePercent, 0)
	}
}
