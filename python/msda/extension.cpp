// torch.ops.msda.forward and backward without Python on the way of a call: looks up the operator that was prepared for
// these arguments, takes output and scratch from PyTorch, launches on the current stream, records the gradient. All
// that is rare (checks, preparing, exceptions, function transforms) is asked of the Python kernels in ops.py. `python
// -m msda build` compiles it against the PyTorch that is installed, since PyTorch's stable ABI knows neither
// requires_grad nor autograd nodes. It links nothing of libmsda, whose functions come as addresses.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "msda/msda.h"

// Of PyTorch's C interface; null in a PyTorch without CUDA.
extern "C" __attribute__((weak)) int32_t aoti_torch_get_current_cuda_stream(int32_t device, void** stream);

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;
using Arguments = c10::ArrayRef<IValue>;

// Where the schemas in ops.py have their arguments: forward(value, locations, weights, settings..., scales,
// output_type, references, pillars) and backward(grad, value, locations, weights, settings..., references, pillars,
// mask).
constexpr size_t settings_at = 3, setting_count = 6, sampling_at = 3;  // the last among the settings
constexpr size_t scales_at = 9, output_type_at = 10, references_at = 11, pillars_at = 12, forward_count = 13;
constexpr size_t backward_references_at = 10, mask_at = 12, backward_count = 13;

// As many as _prepared.py remembers.
constexpr size_t most_operators = 4096;

c10::OperatorHandle find(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

// All that an operator depends on, as bytes: of tensors the shape, the strides, the type, the device and the lowest
// bits of the address; other arguments as they are.
class Key {
  public:
    explicit Key(Arguments arguments) {
        bytes_.reserve(768);
        for (const IValue& argument : arguments) add(argument);
        add(alignment_ & 15);
    }
    std::string take() { return std::move(bytes_); }

  private:
    void add(int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }

    void add(const Tensor& tensor) {
        add(tensor.dim());
        for (const int64_t size : tensor.sizes()) add(size);
        add(tensor.is_contiguous());
        if (!tensor.is_contiguous())
            for (const int64_t stride : tensor.strides()) add(stride);
        add(static_cast<int64_t>(tensor.scalar_type()));
        add(tensor.get_device());
        alignment_ |= reinterpret_cast<intptr_t>(tensor.const_data_ptr());
    }

    void add(const std::string& text) {
        add(static_cast<int64_t>(text.size()));
        bytes_ += text;
    }

    void add(const IValue& argument) {
        if (argument.isTensor()) return add(argument.toTensor());
        if (argument.isString()) return add(argument.toStringRef());
        if (argument.isBool()) return add(int64_t{argument.toBool()});
        if (argument.isNone()) return add(int64_t{-1});
        if (!argument.isList()) return add(argument.toInt());
        add(static_cast<int64_t>(argument.toListRef().size()));
        for (const IValue& item : argument.toListRef()) add(item);
    }

    std::string bytes_;
    int64_t alignment_ = 0;
};

// A prepared operator with the functions that it needs, as _prepare_forward and _prepare_backward in ops.py return
// them.
struct Operator {
    explicit Operator(const std::vector<int64_t>& prepared)
        : handle(reinterpret_cast<msda_operator*>(prepared.at(0))),
          launch(reinterpret_cast<decltype(launch)>(prepared.at(1))),
          destroy(reinterpret_cast<decltype(destroy)>(prepared.at(2))),
          workspace_bytes(prepared.at(3)) {}
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
    ~Operator() { destroy(handle); }

    msda_operator* handle;
    msda_status (*launch)(const msda_operator*, const msda_tensors*, void*);
    void (*destroy)(msda_operator*);
    int64_t workspace_bytes;
};

// The operators of one pass. Any thread may ask; none waits while another prepares.
class Operators {
  public:
    // `prepare`: the operator of ops.py that checks the arguments and prepares what they describe.
    explicit Operators(const char* prepare) : prepare_(find(prepare)) {}

    std::shared_ptr<const Operator> of(Arguments arguments) {
        std::string key = Key(arguments).take();
        {
            const std::lock_guard lock(mutex_);
            const auto found = known_.find(key);
            if (found != known_.end()) return found->second;
        }
        Stack stack = arguments.vec();
        prepare_.callBoxed(stack);
        auto prepared = std::make_shared<const Operator>(stack.at(0).toIntVector());
        Known forgotten;  // destroyed after the lock is given back
        const std::lock_guard lock(mutex_);
        if (known_.size() >= most_operators) known_.swap(forgotten);
        known_[std::move(key)] = prepared;
        return prepared;
    }

  private:
    using Known = std::unordered_map<std::string, std::shared_ptr<const Operator>>;

    c10::OperatorHandle prepare_;
    std::mutex mutex_;
    Known known_;
};

// Launches on the current stream of the value's device. Raises msda.Error.
void launch(const Operator& prepared, msda_tensors& tensors, const Tensor& value) {
    Tensor workspace;
    if (prepared.workspace_bytes > 0) {
        workspace = at::empty({prepared.workspace_bytes}, value.options().dtype(at::kByte));
        tensors.workspace = workspace.mutable_data_ptr();
    }
    void* stream = nullptr;
    if (value.is_cuda())
        TORCH_CHECK(aoti_torch_get_current_cuda_stream(value.get_device(), &stream) == 0, "no current stream");
    const msda_status status = prepared.launch(prepared.handle, &tensors, stream);
    if (status == MSDA_OK) return;
    static const c10::OperatorHandle raise = find("msda::_check");
    Stack stack{value, int64_t{status}};
    raise.callBoxed(stack);
}

const void* address(const IValue& tensor) { return tensor.isTensor() ? tensor.toTensor().const_data_ptr() : nullptr; }

// What both passes read. `tensors`: value, locations and weights.
msda_tensors addresses(Arguments tensors, const IValue& references) {
    msda_tensors result = MSDA_TENSORS_INIT;
    result.value = address(tensors[0]);
    result.locations = address(tensors[1]);
    result.weights = address(tensors[2]);
    result.references = address(references);
    return result;
}

Tensor run_forward(Arguments arguments) {
    static Operators& operators = *new Operators("msda::_prepare_forward");  // outlives whatever is destroyed at exit
    const auto prepared = operators.of(arguments);
    const Tensor &value = arguments[0].toTensor(), &locations = arguments[1].toTensor();
    at::ScalarType type = value.scalar_type();
    if (type == at::kFloat8_e4m3fn)
        type = arguments[output_type_at].toOptional<at::ScalarType>().value_or(at::kBFloat16);
    const Tensor output =
        at::empty({value.size(0), locations.size(1), value.size(2) * value.size(3)}, value.options().dtype(type));
    msda_tensors tensors = addresses(arguments, arguments[references_at]);
    tensors.scales = address(arguments[scales_at]);
    tensors.output = output.mutable_data_ptr();
    launch(*prepared, tensors, value);
    return output;
}

void forward(const c10::OperatorHandle&, Stack* stack) {
    Tensor output = run_forward(torch::jit::last(*stack, forward_count));
    torch::jit::drop(*stack, forward_count);
    stack->emplace_back(std::move(output));
}

// Returns the gradients that the mask asks for, without gaps.
c10::List<Tensor> run_backward(Arguments arguments) {
    static Operators& operators = *new Operators("msda::_prepare_backward");
    c10::List<Tensor> gradients;
    const Tensor &grad = arguments[0].toTensor(), &value = arguments[1].toTensor();
    const c10::List<bool> mask = arguments[mask_at].toBoolList();
    if (!mask[0] && !mask[1] && !mask[2] && !mask[3]) return gradients;
    const auto prepared = operators.of(arguments);
    const IValue& references = arguments[backward_references_at];
    msda_tensors tensors = addresses(arguments.slice(1), references);
    tensors.grad_output = grad.const_data_ptr();
    const auto give = [](const IValue& like, void*& place) {
        const Tensor gradient = at::empty_like(like.toTensor(), at::MemoryFormat::Contiguous);
        place = gradient.mutable_data_ptr();
        return gradient;
    };
    Tensor unasked;  // the references' gradient comes with that of the locations
    if (mask[0]) gradients.push_back(give(arguments[1], tensors.grad_value));
    if (mask[1]) gradients.push_back(give(arguments[2], tensors.grad_locations));
    if (mask[2]) gradients.push_back(give(arguments[3], tensors.grad_weights));
    if (mask[3]) gradients.push_back(give(references, tensors.grad_references));
    if (mask[3] && !mask[1]) unasked = give(arguments[2], tensors.grad_locations);
    launch(*prepared, tensors, value);
    return gradients;
}

void backward(const c10::OperatorHandle&, Stack* stack) {
    IValue& grad = stack->at(stack->size() - backward_count);
    grad = grad.toTensor().contiguous();
    c10::List<Tensor> gradients = run_backward(torch::jit::last(*stack, backward_count));
    torch::jit::drop(*stack, backward_count);
    stack->emplace_back(std::move(gradients));
}

// True when nothing stands between the arguments and the kernel: dense tensors on the CPU or a GPU (no subclass, no
// lazy negation, ...), no mode that watches calls, no function transform.
bool is_plain(Arguments arguments) {
    using c10::DispatchKey;
    using c10::DispatchKeySet;
    static const DispatchKeySet allowed =
        DispatchKeySet({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA,
                        DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA, DispatchKey::ADInplaceOrView});
    static const DispatchKeySet watching =
        DispatchKeySet({DispatchKey::Python, DispatchKey::FuncTorchDynamicLayerFrontMode, DispatchKey::Functionalize});
    DispatchKeySet keys;
    for (const IValue& argument : arguments)
        if (argument.isTensor()) keys = keys | argument.toTensor().key_set();
    const auto modes = c10::impl::tls_local_dispatch_key_set();
    // A transform excludes its own key while it runs what it transforms.
    return (keys.raw_repr() & ~allowed.raw_repr()) == 0 && !(modes.included_ | modes.excluded_).has_any(watching);
}

// The arguments of a forward in one, which autograd does not look into.
struct Call {
    Arguments arguments;
};

class Forward : public torch::autograd::Function<Forward> {
  public:
    // The tensors of the call are given once more, so that autograd sees them.
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& value, const Tensor& locations,
                          const Tensor& weights, const std::optional<Tensor>& references, Call call) {
        context->save_for_backward({value, locations, weights, references.value_or(Tensor())});
        std::vector<IValue> settings = call.arguments.slice(settings_at, setting_count).vec();
        settings.push_back(call.arguments[pillars_at]);
        context->saved_data["settings"] = c10::ivalue::Tuple::create(std::move(settings));
        return run_forward(call.arguments);
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& grads) {
        static const c10::OperatorHandle op = find("msda::backward");
        const std::vector<IValue>& settings = context->saved_data["settings"].toTupleRef().elements().vec();
        const torch::autograd::variable_list saved = context->get_saved_variables();
        const Tensor& references = saved[3];
        // A pixel that is chosen, not interpolated, has no gradient by its place.
        const bool placed = settings[sampling_at].toStringRef() == "bilinear";
        const auto need = [&](size_t input) { return context->needs_input_grad(input); };
        const c10::List<bool> mask({need(0), need(1) && placed, need(2), references.defined() && need(3) && placed});
        Stack stack{grads[0], saved[0], saved[1], saved[2]};
        stack.insert(stack.end(), settings.begin(), settings.end() - 1);
        stack.push_back(references.defined() ? IValue(references) : IValue());
        stack.push_back(settings.back());
        stack.emplace_back(mask);
        op.callBoxed(stack);
        torch::autograd::variable_list gradients(mask.size() + 1);  // none for the call
        const c10::List<Tensor> found = stack.at(0).toTensorList();
        for (size_t i = 0, next = 0; i < mask.size(); ++i)
            if (mask[i]) gradients[i] = found[next++];
        return gradients;
    }
};

bool requires_grad(const IValue& argument) { return argument.isTensor() && argument.toTensor().requires_grad(); }

bool has_tangent(const IValue& argument) { return argument.isTensor() && argument.toTensor()._fw_grad(0).defined(); }

// Derivatives that do not exist, of forward mode and of 8-bit values, which the general kernel refuses.
bool needs_refusal(Arguments arguments, bool needed) {
    const IValue& scales = arguments[scales_at];
    return std::any_of(arguments.begin(), arguments.end(), has_tangent) ||
           (scales.isTensor() && (needed || requires_grad(scales)));
}

void forward_autograd(const c10::OperatorHandle&, Stack* stack) {
    static const c10::OperatorHandle general = find("msda::_forward_general");
    const Arguments arguments = torch::jit::last(*stack, forward_count);
    const bool needed = at::GradMode::is_enabled() && std::any_of(arguments.begin(), arguments.end(), requires_grad);
    if (!is_plain(arguments) || needs_refusal(arguments, needed)) return general.callBoxed(stack);
    Tensor output = needed ? Forward::apply(arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toTensor(),
                                            arguments[references_at].toOptional<Tensor>(), Call{arguments})
                           : run_forward(arguments);
    torch::jit::drop(*stack, forward_count);
    stack->emplace_back(std::move(output));
}

void backward_autograd(const c10::OperatorHandle& op, Stack* stack) {
    static const c10::OperatorHandle general = find("msda::_backward_general");
    const Arguments arguments = torch::jit::last(*stack, backward_count);
    if (at::GradMode::is_enabled() || !is_plain(arguments)) return general.callBoxed(stack);
    backward(op, stack);
}

}  // namespace

#define MSDA_BOXED(function) torch::CppFunction::makeFromBoxedFunction<&function>()

TORCH_LIBRARY_IMPL(msda, CPU, library) {
    library.impl("forward", MSDA_BOXED(forward));
    library.impl("backward", MSDA_BOXED(backward));
}
TORCH_LIBRARY_IMPL(msda, CUDA, library) {
    library.impl("forward", MSDA_BOXED(forward));
    library.impl("backward", MSDA_BOXED(backward));
}
TORCH_LIBRARY_IMPL(msda, AutogradCPU, library) {
    library.impl("forward", MSDA_BOXED(forward_autograd));
    library.impl("backward", MSDA_BOXED(backward_autograd));
}
TORCH_LIBRARY_IMPL(msda, AutogradCUDA, library) {
    library.impl("forward", MSDA_BOXED(forward_autograd));
    library.impl("backward", MSDA_BOXED(backward_autograd));
}
