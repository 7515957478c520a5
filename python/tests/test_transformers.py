"""Real clients: transformers' models with random weights, patched against unpatched."""

import copy

import pytest
import torch

pytest.importorskip("transformers")
import clients
import msda

ATTENTIONS = {"DeformableDetr": 4, "RTDetr": 2, "Mask2Former": 2}


def step(model, pixels):
    model.zero_grad()
    outputs = model(pixel_values=pixels)
    clients.loss_of(outputs).backward()
    parts = (outputs.logits, outputs.pred_boxes) if hasattr(outputs, "pred_boxes") else outputs.masks_queries_logits
    return [part.detach() for part in parts], {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def compare(name, device, tolerance):
    model = clients.make(name, small=True, device=device).eval()
    patched = copy.deepcopy(model)
    assert len(msda.patch(patched)) == ATTENTIONS[name]
    for seed, (batch, height, width) in enumerate([(2, 64, 96), (1, 96, 64)]):
        pixels = clients.images(batch, height, width, device, seed)
        expected, expected_grads = step(model, pixels)
        got, grads = step(patched, pixels)
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * float(b.abs().max()))
        assert grads.keys() == expected_grads.keys() and any("sampling_offsets" in n for n in grads)
        largest = max(float(grad.abs().max()) for grad in expected_grads.values())
        for parameter, expected_grad in expected_grads.items():
            # Biases before a normalisation have gradients that are rounding errors alone.
            limit = 20 * tolerance * float(expected_grad.abs().max()) + 1e-6 * largest
            assert float((grads[parameter] - expected_grad).abs().max()) <= limit, parameter


@pytest.mark.parametrize("name", clients.CLIENTS)
def test_outputs_and_gradients_agree(name):
    compare(name, "cpu", 1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("name", clients.CLIENTS)
def test_outputs_and_gradients_agree_on_the_gpu(name):
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    compare(name, "cuda", 1e-3)


def count_calls(monkeypatch):
    from msda import _prepared

    calls = []
    whole = _prepared.forward
    monkeypatch.setattr(_prepared, "forward", lambda *a, **k: calls.append(1) or whole(*a, **k))
    return calls


@pytest.mark.parametrize("name", clients.CLIENTS)
def test_the_operator_is_what_runs(name, monkeypatch):
    model = clients.make(name, small=True).eval()
    pixels = clients.images(1, 64, 96)
    calls = count_calls(monkeypatch)
    model.requires_grad_()
    model(pixel_values=pixels)
    assert not calls
    msda.patch(model)
    model(pixel_values=pixels)
    msda.unpatch(model)
    model(pixel_values=pixels)
    # a call with gradients goes through the name that is replaced here
    assert len(calls) == ATTENTIONS[name]


def test_training_mode_and_bfloat16():
    model = clients.make("DeformableDetr", small=True).train()
    msda.patch(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = clients.loss_of(model(pixel_values=clients.images(2, 64, 64)))
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_rt_detr_v2_with_both_methods():
    from transformers import RTDetrResNetConfig, RTDetrV2Config, RTDetrV2ForObjectDetection

    for method in ("default", "discrete"):
        backbone = RTDetrResNetConfig(**clients.RESNET_SMALL, out_features=["stage2", "stage3", "stage4"])
        config = RTDetrV2Config(
            backbone_config=backbone, encoder_in_channels=[16, 24, 32], decoder_in_channels=[32] * 3, d_model=32, encoder_hidden_dim=32,
            decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32,
            num_queries=12, decoder_method=method,
        )  # fmt: skip
        torch.manual_seed(0)
        model = RTDetrV2ForObjectDetection(config).eval()
        patched = copy.deepcopy(model)
        assert len(msda.patch(patched)) == 2
        pixels = clients.images(1, 64, 96)
        expected, expected_grads = step(model, pixels)
        got, grads = step(patched, pixels)
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
        assert grads.keys() == expected_grads.keys()
        for name, expected_grad in expected_grads.items():
            torch.testing.assert_close(grads[name], expected_grad, rtol=1e-2, atol=1e-4)
