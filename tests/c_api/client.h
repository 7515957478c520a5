// The C client of the C interface, a plain C99 file; each function returns null, or what did not hold as text.
#ifndef MSDA_TESTS_CLIENT_H
#define MSDA_TESTS_CLIENT_H

#ifdef __cplusplus
extern "C" {
#endif

const char* msda_client_runs_forward(void);
const char* msda_client_runs_backward(void);
const char* msda_client_reads_errors(void);

#ifdef __cplusplus
}
#endif

#endif
