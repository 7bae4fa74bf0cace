// Package compare measures what requests, watches, definitions, nodes and starts cost on one or two servers.
//
// Its words:
//
//   - A row is one kind of work, such as the update of a custom resource by 16 clients. All sides get the same number of the same
//     requests.
//   - A sample is one measurement of one row on one side. The sides take turns, so that each round measures all of them under the
//     same conditions. A cell of the report is the median of the samples, with the lowest and the highest.
//   - A stage is a part of a run that has servers of its own, such as the rows about starts. A run can have some of the stages only, and
//     Figures.Merge adds their rows to those of an earlier run.
//   - A sample is disturbed if processes that are no part of the measurement used more than a given part of the CPU time of the
//     machine. A disturbed sample is measured again, at most Settings.Repeats times; the attempt with the least foreign CPU time
//     counts. Samples that need the same server, such as those of one start, are measured again together. The report says how many
//     attempts were discarded, and how many samples stayed disturbed.
//
// A sample of requests also has the memory that the server allocated for one of them, by its metrics.
//
// Other work on the machine changes the time that a client waits far more than CPU time. The report therefore leaves the times out
// if more than a tenth of the samples stayed disturbed.
package compare
