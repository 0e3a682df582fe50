/* cl_error.c - names of OpenCL's and CLBlast's codes, and what a code means to a caller.
 *
 * CLBlast repeats OpenCL's codes under other names and adds two ranges of its own (-1022 ... -1007
 * and -2050 ... -2039); one table serves both, so a message always shows a name beside the number.
 * The advice says what the code mostly is in practice, which is rarely what its name says: -5 is a
 * lack of memory more often than anything else.
 *
 * Any thread; no state. */
#include "device/cl.h"

/* X(code, name) */
#define CODE_LIST(X)                                                                               \
    X(-1, "CL_DEVICE_NOT_FOUND")                                                                   \
    X(-2, "CL_DEVICE_NOT_AVAILABLE")                                                               \
    X(-3, "CL_COMPILER_NOT_AVAILABLE")                                                             \
    X(-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE")                                                      \
    X(-5, "CL_OUT_OF_RESOURCES")                                                                   \
    X(-6, "CL_OUT_OF_HOST_MEMORY")                                                                 \
    X(-7, "CL_PROFILING_INFO_NOT_AVAILABLE")                                                       \
    X(-8, "CL_MEM_COPY_OVERLAP")                                                                   \
    X(-9, "CL_IMAGE_FORMAT_MISMATCH")                                                              \
    X(-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED")                                                        \
    X(-11, "CL_BUILD_PROGRAM_FAILURE")                                                             \
    X(-12, "CL_MAP_FAILURE")                                                                       \
    X(-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET")                                                      \
    X(-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")                                         \
    X(-15, "CL_COMPILE_PROGRAM_FAILURE")                                                           \
    X(-16, "CL_LINKER_NOT_AVAILABLE")                                                              \
    X(-17, "CL_LINK_PROGRAM_FAILURE")                                                              \
    X(-18, "CL_DEVICE_PARTITION_FAILED")                                                           \
    X(-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE")                                                     \
    X(-30, "CL_INVALID_VALUE")                                                                     \
    X(-31, "CL_INVALID_DEVICE_TYPE")                                                               \
    X(-32, "CL_INVALID_PLATFORM")                                                                  \
    X(-33, "CL_INVALID_DEVICE")                                                                    \
    X(-34, "CL_INVALID_CONTEXT")                                                                   \
    X(-35, "CL_INVALID_QUEUE_PROPERTIES")                                                          \
    X(-36, "CL_INVALID_COMMAND_QUEUE")                                                             \
    X(-37, "CL_INVALID_HOST_PTR")                                                                  \
    X(-38, "CL_INVALID_MEM_OBJECT")                                                                \
    X(-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR")                                                   \
    X(-40, "CL_INVALID_IMAGE_SIZE")                                                                \
    X(-41, "CL_INVALID_SAMPLER")                                                                   \
    X(-42, "CL_INVALID_BINARY")                                                                    \
    X(-43, "CL_INVALID_BUILD_OPTIONS")                                                             \
    X(-44, "CL_INVALID_PROGRAM")                                                                   \
    X(-45, "CL_INVALID_PROGRAM_EXECUTABLE")                                                        \
    X(-46, "CL_INVALID_KERNEL_NAME")                                                               \
    X(-47, "CL_INVALID_KERNEL_DEFINITION")                                                         \
    X(-48, "CL_INVALID_KERNEL")                                                                    \
    X(-49, "CL_INVALID_ARG_INDEX")                                                                 \
    X(-50, "CL_INVALID_ARG_VALUE")                                                                 \
    X(-51, "CL_INVALID_ARG_SIZE")                                                                  \
    X(-52, "CL_INVALID_KERNEL_ARGS")                                                               \
    X(-53, "CL_INVALID_WORK_DIMENSION")                                                            \
    X(-54, "CL_INVALID_WORK_GROUP_SIZE")                                                           \
    X(-55, "CL_INVALID_WORK_ITEM_SIZE")                                                            \
    X(-56, "CL_INVALID_GLOBAL_OFFSET")                                                             \
    X(-57, "CL_INVALID_EVENT_WAIT_LIST")                                                           \
    X(-58, "CL_INVALID_EVENT")                                                                     \
    X(-59, "CL_INVALID_OPERATION")                                                                 \
    X(-60, "CL_INVALID_GL_OBJECT")                                                                 \
    X(-61, "CL_INVALID_BUFFER_SIZE")                                                               \
    X(-62, "CL_INVALID_MIP_LEVEL")                                                                 \
    X(-63, "CL_INVALID_GLOBAL_WORK_SIZE")                                                          \
    X(-64, "CL_INVALID_PROPERTY")                                                                  \
    X(-65, "CL_INVALID_IMAGE_DESCRIPTOR")                                                          \
    X(-66, "CL_INVALID_COMPILER_OPTIONS")                                                          \
    X(-67, "CL_INVALID_LINKER_OPTIONS")                                                            \
    X(-68, "CL_INVALID_DEVICE_PARTITION_COUNT")                                                    \
    X(-69, "CL_INVALID_PIPE_SIZE")                                                                 \
    X(-70, "CL_INVALID_DEVICE_QUEUE")                                                              \
    X(-71, "CL_INVALID_SPEC_ID")                                                                   \
    X(-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED")                                                     \
    X(-1001, "CL_PLATFORM_NOT_FOUND_KHR")                                                          \
    X(-1024, "CLBlastNotImplemented")                                                              \
    X(-1022, "CLBlastInvalidMatrixA")                                                              \
    X(-1021, "CLBlastInvalidMatrixB")                                                              \
    X(-1020, "CLBlastInvalidMatrixC")                                                              \
    X(-1019, "CLBlastInvalidVectorX")                                                              \
    X(-1018, "CLBlastInvalidVectorY")                                                              \
    X(-1017, "CLBlastInvalidDimension")                                                            \
    X(-1016, "CLBlastInvalidLeadDimA")                                                             \
    X(-1015, "CLBlastInvalidLeadDimB")                                                             \
    X(-1014, "CLBlastInvalidLeadDimC")                                                             \
    X(-1013, "CLBlastInvalidIncrementX")                                                           \
    X(-1012, "CLBlastInvalidIncrementY")                                                           \
    X(-1011, "CLBlastInsufficientMemoryA")                                                         \
    X(-1010, "CLBlastInsufficientMemoryB")                                                         \
    X(-1009, "CLBlastInsufficientMemoryC")                                                         \
    X(-1008, "CLBlastInsufficientMemoryX")                                                         \
    X(-1007, "CLBlastInsufficientMemoryY")                                                         \
    X(-2050, "CLBlastInsufficientMemoryTemp")                                                      \
    X(-2049, "CLBlastInvalidBatchCount")                                                           \
    X(-2048, "CLBlastInvalidOverrideKernel")                                                       \
    X(-2047, "CLBlastMissingOverrideParameter")                                                    \
    X(-2046, "CLBlastInvalidLocalMemUsage")                                                        \
    X(-2045, "CLBlastNoHalfPrecision")                                                             \
    X(-2044, "CLBlastNoDoublePrecision")                                                           \
    X(-2043, "CLBlastInvalidVectorScalar")                                                         \
    X(-2042, "CLBlastInsufficientMemoryScalar")                                                    \
    X(-2041, "CLBlastDatabaseError")                                                               \
    X(-2040, "CLBlastUnknownError")                                                                \
    X(-2039, "CLBlastUnexpectedError")

const char *cmi_cl_name(int code)
{
    switch (code) {
    case 0:
        return "CL_SUCCESS";
#define X(number, name)                                                                            \
    case number:                                                                                   \
        return name;
        CODE_LIST(X)
#undef X
    default:
        return "unknown OpenCL code";
    }
}

cm_status cmi_cl_status(int code)
{
    switch (code) {
    case 0:
        return CM_OK;
    case -4:
    case -5:
    case -6:
    case -61:
        return CM_E_MEMORY;
    case -11:
        return CM_E_BUILD;
    case -1:
    case -2:
    case -1001:
        return CM_E_NO_DEVICE;
    default:
        return CM_E_OPENCL;
    }
}

/* What to try, beginning with "; ", or an empty text. */
static const char *advice(int code)
{
    switch (code) {
    case -4:
    case -6:
    case -61:
        return "; out of memory on the device: try a smaller batch or a smaller model";
    case -5:
        return "; mostly out of memory (try a smaller batch), else a kernel that crashed or a "
               "device that was reset";
    case -14:
        return "; a command it waited for failed: the first failing command is the cause";
    case -9999:
        return "; an illegal memory access in a kernel";
    case -33:
    case -34:
    case -36:
        return "; does the process use OpenCL objects made before a fork?";
    case -54:
    case -55:
        return "; the work-group is larger than this kernel may have on this device";
    case -1001:
        return "; no OpenCL driver: install one (package pocl-opencl-icd, or the GPU's) or see "
               "OCL_ICD_VENDORS";
    case -1017:
    case -2049:
        return "; an empty product must not reach CLBlast";
    case -2039:
    case -2040:
        return "; CLMIRROR_GEMM=packed avoids CLBlast";
    default:
        return "";
    }
}

cm_status cmi_cl_error(int code, const char *call)
{
    return cmi_error_code(cmi_cl_status(code), code, "%s: %s (%d)%s", call, cmi_cl_name(code), code,
                          advice(code));
}
