"""The three transformers models that this package is tested with, from configurations: random weights, nothing is downloaded."""

import torch
from transformers import (
    DeformableDetrConfig,
    DeformableDetrForObjectDetection,
    Mask2FormerConfig,
    Mask2FormerModel,
    ResNetConfig,
    RTDetrConfig,
    RTDetrForObjectDetection,
    RTDetrResNetConfig,
    SwinConfig,
)

RESNET_50 = {"embedding_size": 64, "hidden_sizes": [256, 512, 1024, 2048], "depths": [3, 4, 6, 3], "layer_type": "bottleneck"}
RESNET_SMALL = {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def deformable_detr(small: bool):
    backbone = ResNetConfig(**(RESNET_SMALL if small else RESNET_50), out_features=["stage2", "stage3", "stage4"])
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "num_queries": 12} if small else {}  # fmt: skip
    config = DeformableDetrConfig(backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, **sizes)
    return DeformableDetrForObjectDetection(config)


def rt_detr(small: bool):
    backbone = RTDetrResNetConfig(**(RESNET_SMALL if small else RESNET_50), out_features=["stage2", "stage3", "stage4"])
    channels = backbone.hidden_sizes[1:]
    sizes = {"d_model": 32, "encoder_hidden_dim": 32, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "num_queries": 12, "num_denoising": 4} if small else {}  # fmt: skip
    decoder_in = [sizes.get("encoder_hidden_dim", 256)] * 3
    config = RTDetrConfig(backbone_config=backbone, encoder_in_channels=channels, decoder_in_channels=decoder_in, **sizes)
    return RTDetrForObjectDetection(config)


def mask2former(small: bool):
    swin = {"embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 2, 2], "window_size": 4} if small else {
        "embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24], "window_size": 7}  # fmt: skip
    backbone = SwinConfig(**swin, out_features=["stage1", "stage2", "stage3", "stage4"])
    sizes = {"feature_size": 32, "mask_feature_size": 32, "hidden_dim": 32, "encoder_feedforward_dim": 32, "dim_feedforward": 32,
             "encoder_layers": 2, "decoder_layers": 2, "num_attention_heads": 4, "num_queries": 12,
             "train_num_points": 64} if small else {}  # fmt: skip
    return Mask2FormerModel(Mask2FormerConfig(backbone_config=backbone, **sizes))


CLIENTS = {"DeformableDetr": deformable_detr, "RTDetr": rt_detr, "Mask2Former": mask2former}


def make(name, small, device="cpu"):
    """The model with random weights in place of the constants that some layers start from."""
    torch.manual_seed(0)
    model = CLIENTS[name](small)
    for parameter_name, parameter in model.named_parameters():
        if "sampling_offsets" in parameter_name or "attention_weights" in parameter_name:
            torch.nn.init.normal_(parameter, std=0.1 if parameter.dim() > 1 else 1.0)
    return model.to(device)


def images(batch, height, width, device="cpu", seed=0):
    """pixel_values (batch, 3, height, width)."""
    torch.manual_seed(seed)
    return torch.randn(batch, 3, height, width, device=device)


def loss_of(outputs):
    """A loss that every head takes part in, scaled so that random weights give gradients of ordinary size.

    The models' own losses match boxes to labels on the CPU, which takes SciPy and hides the time of the rest.
    """
    if hasattr(outputs, "pred_boxes"):
        parts = (outputs.logits, outputs.pred_boxes)
    else:
        parts = outputs.masks_queries_logits
    return sum((part.float().square() / part.detach().float().square().mean()).mean() for part in parts)
